package nostr_test

import (
	"encoding/csv"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBIP340 signs the official vectors of BIP-340.
func TestBIP340(t *testing.T) {
	file, err := os.Open("../bip340/testdata/vectors.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+19 {
		t.Fatalf("%d rows, want the header and indices 0 to 18", len(rows))
	}
	for _, row := range rows[1:] {
		t.Run(row[0], func(t *testing.T) {
			pk, msg, sig := nostr.PubKey(unhex(t, row[2])), unhex(t, row[4]), nostr.Sig(unhex(t, row[5]))
			if row[1] == "" {
				return
			}
			key := nostr.SecretKey(unhex(t, row[1]))
			if got := key.PubKey(); got != pk {
				t.Errorf("public key = %s, want %s", got, pk)
			}
			got, err := nostr.SignSchnorr(key, msg, [32]byte(unhex(t, row[3])))
			if err != nil || got != sig {
				t.Errorf("signature = %s, %v, want %s", got, err, sig)
			}
		})
	}
}

// TestVerifyRefusesEveryFlippedBit changes a genuine signature, its message and its key bit by bit.
func TestVerifyRefusesEveryFlippedBit(t *testing.T) {
	e := signed(t, nostr.Event{Kind: 1, Content: "x"})
	verify := nostr.Schnorr{}.Verify
	if !verify(e.PubKey, e.ID, e.Sig) {
		t.Fatal("the genuine one is refused")
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 60 {
		pk, id, sig := e.PubKey, e.ID, e.Sig
		bit := r.IntN(8 * 128)
		switch at := bit / 8; {
		case at < 32:
			pk[at] ^= 1 << (bit % 8)
		case at < 64:
			id[at-32] ^= 1 << (bit % 8)
		default:
			sig[at-64] ^= 1 << (bit % 8)
		}
		if verify(pk, id, sig) {
			t.Errorf("accepted with bit %d changed", bit)
		}
	}
}
