package bip340_test

import (
	"encoding/csv"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"github.com/graspd/graspd/internal/protocol/bip340"
)

// TestVectors runs the official vectors of BIP-340.
func TestVectors(t *testing.T) {
	file, err := os.Open("testdata/vectors.csv")
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
		pk, msg, sig := [32]byte(unhex(t, row[2])), unhex(t, row[4]), [64]byte(unhex(t, row[5]))
		if got, want := bip340.Verify(&pk, msg, &sig), row[6] == "TRUE"; got != want {
			t.Errorf("vector %s: verified = %v, want %v: %s", row[0], got, want, row[7])
		}
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// same fails the test unless both verifiers say the same, and returns what they say.
func same(t *testing.T, pk *[32]byte, msg []byte, sig *[64]byte) bool {
	t.Helper()
	got, want := bip340.Verify(pk, msg, sig), oracle(pk, msg, sig)
	if got != want {
		t.Errorf("verified = %v, want %v: key %x, message %x, signature %x", got, want, *pk, msg, *sig)
	}
	return got
}

// random is a scalar that is not 0; some have few bits, or are close to the order.
func random(r *rand.Rand) *secp256k1.ModNScalar {
	var b [32]byte
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	for i := range b[:r.IntN(4)*10] { // often short
		b[i] = 0
	}
	b[31] |= 1
	var k secp256k1.ModNScalar
	k.SetByteSlice(b[:])
	if r.IntN(4) == 0 {
		k.Negate()
	}
	return &k
}

// Genuine signatures verify; with any bit of the key, the message or the signature changed they do not. Another
// implementation says the same of each.
func TestGenuineAndChanged(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 340))
	for range 60 {
		s, msg := newSigner(random(r)), make([]byte, r.IntN(100))
		for i := range msg {
			msg[i] = byte(r.Uint32())
		}
		sig := s.sign(msg, random(r))
		if !same(t, &s.public, msg, &sig) {
			t.Fatalf("a genuine signature by %x is refused", s.public)
		}
		key, changed := s.public, sig
		key[r.IntN(32)] ^= 1 << r.IntN(8)
		changed[r.IntN(64)] ^= 1 << r.IntN(8)
		if same(t, &key, msg, &sig) || same(t, &s.public, msg, &changed) || same(t, &s.public, append(msg, 0), &sig) {
			t.Error("something changed is accepted")
		}
	}
}

// What is valid but for one rule of BIP-340 is refused.
func TestRules(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 340))
	msg := []byte("a message")
	one := new(secp256k1.ModNScalar).SetInt(1)
	for range 20 {
		s, nonce := newSigner(random(r)), random(r)

		// R with an odd y: s = -k + e d for the k that gives an even one.
		k := *nonce
		rx := evenPoint(&k)
		e := oracleChallenge(rx[:], s.public[:], msg)
		k.Negate().Add(e.Mul(&s.secret))
		var odd [64]byte
		copy(odd[:], rx[:])
		k.PutBytesUnchecked(odd[32:])
		if same(t, &s.public, msg, &odd) {
			t.Error("a signature whose R has an odd y is accepted")
		}

		// R is the point at infinity: s = e d, whatever stands for its x.
		for _, x := range [][32]byte{{}, {31: 1}, evenPoint(one)} {
			e := oracleChallenge(x[:], s.public[:], msg)
			var none [64]byte
			copy(none[:], x[:])
			e.Mul(&s.secret).PutBytesUnchecked(none[32:])
			if same(t, &s.public, msg, &none) {
				t.Error("a signature without R is accepted")
			}
		}
	}
}

// Numbers that are not below the size of the field or the order of the group are refused, and so are keys that are no x
// coordinate of the curve.
func TestOutOfRange(t *testing.T) {
	const (
		p = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f"
		n = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
	)
	r := rand.New(rand.NewPCG(3, 340))
	s, msg := newSigner(random(r)), []byte("a message")
	sig := s.sign(msg, random(r))
	for _, x := range []string{p, p[:62] + "30", "ff" + p[2:62] + "ff", "0000000000000000000000000000000000000000000000000000000000000000",
		"0000000000000000000000000000000000000000000000000000000000000005"} {
		key := [32]byte(unhex(t, x))
		if same(t, &key, msg, &sig) {
			t.Errorf("key %s is accepted", x)
		}
		changed := sig
		copy(changed[:32], key[:])
		if same(t, &s.public, msg, &changed) {
			t.Errorf("R %s is accepted", x)
		}
	}
	for _, x := range []string{n, n[:62] + "42", "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"0000000000000000000000000000000000000000000000000000000000000000"} {
		changed := sig
		copy(changed[32:], unhex(t, x))
		if same(t, &s.public, msg, &changed) {
			t.Errorf("s %s is accepted", x)
		}
	}
}

// Secrets and nonces whose points meet each other or the multiples of the generator within the sum.
func TestPointsThatMeet(t *testing.T) {
	for d := range uint32(12) {
		for k := range uint32(12) {
			s := newSigner(new(secp256k1.ModNScalar).SetInt(d + 1))
			sig := s.sign([]byte{byte(d), byte(k)}, new(secp256k1.ModNScalar).SetInt(k+1))
			if !same(t, &s.public, []byte{byte(d), byte(k)}, &sig) {
				t.Errorf("secret %d, nonce %d: refused", d+1, k+1)
			}
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	r := rand.New(rand.NewPCG(4, 340))
	s, msg := newSigner(random(r)), make([]byte, 32)
	sig := s.sign(msg, random(r))
	for name, verify := range map[string]func(*[32]byte, []byte, *[64]byte) bool{"this": bip340.Verify, "oracle": oracle} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if !verify(&s.public, msg, &sig) {
					b.Fatal("refused")
				}
			}
		})
	}
}
