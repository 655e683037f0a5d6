package bip340_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"graspd/internal/bip340"
)

// sign makes n genuine signatures by so many keys.
func signMany(r *rand.Rand, n, keys int) []bip340.Signed {
	signers := make([]*signer, keys)
	for i := range signers {
		signers[i] = newSigner(random(r))
	}
	batch := make([]bip340.Signed, n)
	for i := range batch {
		s, msg := signers[i%keys], binary.BigEndian.AppendUint64(make([]byte, 24), r.Uint64())
		sig := s.sign(msg, random(r))
		batch[i] = bip340.Signed{Key: &s.public, Msg: msg, Sig: &sig}
	}
	return batch
}

// oracleOf is the oracle's verdict on each.
func oracleOf(batch []bip340.Signed) []bool {
	out := make([]bool, len(batch))
	for i, s := range batch {
		out[i] = oracle(s.Key, s.Msg, s.Sig)
	}
	return out
}

// agree verifies a batch, fails the test unless its verdict is that of the oracle for each, and returns how many are genuine.
func agree(t *testing.T, b *bip340.Batch, batch []bip340.Signed) (genuine int) {
	t.Helper()
	want := oracleOf(batch)
	agreeWith(t, b, batch, want)
	for _, ok := range want {
		if ok {
			genuine++
		}
	}
	return genuine
}

func agreeWith(t *testing.T, b *bip340.Batch, batch []bip340.Signed, want []bool) {
	t.Helper()
	ok := make([]bool, len(batch))
	for i := range ok {
		ok[i] = i%2 == 0 // what stands there before counts for nothing
	}
	b.Verify(batch, ok)
	for i, s := range batch {
		if ok[i] != want[i] {
			t.Errorf("%d of %d: verified = %v, want %v: key %x, message %x, signature %x", i, len(batch), ok[i], want[i], *s.Key, s.Msg, *s.Sig)
		}
	}
}

func TestBatchOfGenuine(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 340))
	var b bip340.Batch
	for _, n := range []int{0, 1, 2, 3, 4, 5, 8, 17, 64, 130} {
		for _, keys := range []int{1, 3, n} {
			if keys == 0 {
				continue
			}
			if got := agree(t, &b, signMany(r, n, keys)); got != n {
				t.Errorf("%d of %d are genuine", got, n)
			}
		}
	}
}

// holds reports whether the sum alone proves the batch, without a look at single signatures.
func holds(b *bip340.Batch, batch []bip340.Signed) bool {
	return b.Holds(batch, make([]bool, len(batch)))
}

// plus is the signature with s changed by a number.
func plus(sig *[64]byte, by *secp256k1.ModNScalar) *[64]byte {
	out := *sig
	var s secp256k1.ModNScalar
	s.SetByteSlice(sig[32:])
	s.Add(by).PutBytesUnchecked(out[32:])
	return &out
}

// The vectors of the BIP, each alone, in a batch of itself and among genuine signatures, and all at once.
func TestVectorsInBatches(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 340))
	var b bip340.Batch
	among := signMany(r, 12, 5)
	all := among[:12:12]
	for i, v := range vectors(t) {
		copies := []bip340.Signed{v.Signed, v.Signed, v.Signed, v.Signed, v.Signed, v.Signed, v.Signed}
		for _, batch := range [][]bip340.Signed{copies[:1], copies, append(among[:i%12:i%12], append(copies[:1:1], among[i%12:]...)...)} {
			ok := make([]bool, len(batch))
			b.Verify(batch, ok)
			for j, s := range batch {
				if want := s.Sig != v.Sig || v.genuine; ok[j] != want {
					t.Errorf("vector %d, %d of %d: verified = %v, want %v: %s", i, j, len(batch), ok[j], want, v.why)
				}
			}
		}
		all = append(all, v.Signed)
	}
	if got := agree(t, &b, all); got != 12+9 {
		t.Errorf("%d are genuine", got)
	}
}

// One of 64 is bad, wherever it stands and whatever is wrong with it.
func TestOneBadAmongMany(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 340))
	var b bip340.Batch
	batch := signMany(r, 64, 9)
	if !holds(&b, batch) {
		t.Fatal("a genuine batch does not hold")
	}
	ok := make([]bool, len(batch))
	for i, s := range batch {
		key, sig, msg := *s.Key, *s.Sig, append([]byte{}, s.Msg...)
		switch i % 4 {
		case 0:
			sig[r.IntN(32)] ^= 1 << r.IntN(8)
		case 1:
			sig[32+r.IntN(32)] ^= 1 << r.IntN(8)
		case 2:
			msg[r.IntN(32)] ^= 1 << r.IntN(8)
		case 3:
			key = *batch[(i+2)%64].Key
		}
		batch[i] = bip340.Signed{Key: &key, Msg: msg, Sig: &sig}
		b.Verify(batch, ok)
		for j := range ok {
			if ok[j] != (j != i) {
				t.Errorf("the bad one is %d: %d verified = %v", i, j, ok[j])
			}
		}
		batch[i] = s
	}
}

// Errors that cancel each other in a sum without coefficients, the first of the batch among them or not, and an attacker who
// knows the coefficients of another batch.
func TestErrorsThatCancel(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 340))
	var b bip340.Batch
	for _, keys := range []int{1, 3, 8} {
		for _, at := range [][]int{{0, 1}, {2, 5}, {1, 2, 3}, {0, 6, 7}} {
			batch := signMany(r, 8, keys)
			by, rest := *random(r), secp256k1.ModNScalar{}
			for _, i := range at[1:] {
				batch[i].Sig = plus(batch[i].Sig, &by)
				rest.Add(&by)
			}
			batch[at[0]].Sig = plus(batch[at[0]].Sig, rest.Negate())
			if holds(&b, batch) {
				t.Errorf("%d keys: errors of %v cancel", keys, at)
			}
			if got := agree(t, &b, batch); got != 8-len(at) {
				t.Errorf("%d keys: %d are genuine", keys, got)
			}
		}
	}
	// Two of one key with their s, or their R, exchanged.
	batch := signMany(r, 6, 1)
	s2, s4 := *batch[2].Sig, *batch[4].Sig
	copy(s2[32:], batch[4].Sig[32:])
	copy(s4[32:], batch[2].Sig[32:])
	batch[2].Sig, batch[4].Sig = &s2, &s4
	if holds(&b, batch) || agree(t, &b, batch) != 4 {
		t.Error("exchanged parts are accepted")
	}
}

// What is no signature at all is left out of the sum, and the others are proved by it nevertheless.
func TestFormsInBatches(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 340))
	var b bip340.Batch
	for _, hex := range []string{
		"fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f", // the size of the field
		"fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc30", // one in another form
		"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", // the order
		"0000000000000000000000000000000000000000000000000000000000000005", // the x coordinate of no point
		"0000000000000000000000000000000000000000000000000000000000000000",
	} {
		number := [32]byte(unhex(t, hex))
		batch := signMany(r, 9, 2)
		rx, s := *batch[0].Sig, *batch[4].Sig
		copy(rx[:32], number[:])
		copy(s[32:], number[:])
		batch[0].Sig, batch[4].Sig, batch[8].Key = &rx, &s, &number
		if got := agree(t, &b, batch); got != 6 {
			t.Errorf("%s: %d are genuine", hex, got)
		}
		batch[4] = batch[5]
		ok := make([]bool, len(batch))
		if held := b.Holds(batch, ok); hex[31] != 'e' && (!held || ok[0] || ok[8]) { // the order is the x coordinate of a point
			t.Errorf("%s: %v", hex, ok)
		}
	}
}

// Signatures that are valid but for one rule, in a batch whose sum would be infinity without it.
func TestMalleatedInBatches(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 340))
	var b bip340.Batch
	for at := range 5 {
		batch := signMany(r, 5, 2)
		s := newSigner(random(r))
		for name, sig := range rulesBroken(s, batch[at].Msg, random(r)) {
			changed := append([]bip340.Signed{}, batch...)
			changed[at] = bip340.Signed{Key: &s.public, Msg: batch[at].Msg, Sig: &sig}
			if got := agree(t, &b, changed); got != 4 {
				t.Errorf("%s: %d are genuine", name, got)
			}
		}
	}
}

// rulesBroken are signatures that BIP-340 refuses for one rule alone.
func rulesBroken(s *signer, msg []byte, nonce *secp256k1.ModNScalar) map[string][64]byte {
	k := *nonce
	rx := evenPoint(&k)
	e := oracleChallenge(rx[:], s.public[:], msg)
	out := make(map[string][64]byte)
	put := func(name string, s *secp256k1.ModNScalar) {
		var sig [64]byte
		copy(sig[:], rx[:])
		s.PutBytesUnchecked(sig[32:])
		out[name] = sig
	}
	var ed, minus secp256k1.ModNScalar
	ed.Mul2(&e, &s.secret)
	minus.NegateVal(&k)
	put("R with an odd y", new(secp256k1.ModNScalar).Add2(&minus, &ed))
	put("a key with an odd y", new(secp256k1.ModNScalar).Add2(&k, new(secp256k1.ModNScalar).NegateVal(&ed)))
	put("s negated", new(secp256k1.ModNScalar).Add2(&k, &ed).Negate())
	put("R is infinity", &ed)
	return out
}

// One signature many times, one R in several, and points that meet each other and the multiples of the generator.
func TestPointsThatMeetInBatches(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 340))
	var b bip340.Batch
	batch := signMany(r, 1, 1)
	for range 6 {
		batch = append(batch, batch...)
	}
	if !holds(&b, batch) {
		t.Error("one signature many times does not hold")
	}
	nonce := random(r)
	batch = batch[:0]
	for i := range 90 {
		s := newSigner(new(secp256k1.ModNScalar).SetInt(uint32(i%9 + 1)))
		k := new(secp256k1.ModNScalar).SetInt(uint32(i%11 + 1))
		if i%3 == 0 {
			k.Set(nonce)
		}
		msg := []byte{byte(i)}
		sig := s.sign(msg, k)
		batch = append(batch, bip340.Signed{Key: &s.public, Msg: msg, Sig: &sig})
	}
	if !holds(&b, batch) || agree(t, &b, batch) != 90 {
		t.Error("genuine signatures with points that meet are refused")
	}
}

// Keys that are remembered from batch to batch count for what they are in each; of many some are forgotten.
func TestKeysThatComeAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 340))
	var b bip340.Batch
	all := signMany(r, 90, 30)
	for range 40 {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		batch := append([]bip340.Signed{}, all[:10+r.IntN(20)]...)
		if !holds(&b, batch) {
			t.Fatal("a genuine batch does not hold")
		}
		i := r.IntN(len(batch))
		batch[i].Key = new([32]byte)
		*batch[i].Key = *all[60].Key
		copy(batch[i].Key[r.IntN(30):], []byte{byte(r.Uint32()), byte(r.Uint32())}) // often no point
		ok := make([]bool, len(batch))
		if held := b.Holds(batch, ok); held && ok[i] {
			t.Fatal("a batch with another key holds")
		}
		b.Flood(400)
	}
	if n := b.Keys(); n > bip340.MostKeys+400 {
		t.Errorf("%d keys are remembered", n)
	}
}

// A batch that is proved by its sum takes no space that an earlier one of that size did not.
func TestBatchAllocatesLittle(t *testing.T) {
	batch := signMany(rand.New(rand.NewPCG(20, 340)), 64, 64)
	ok := make([]bool, len(batch))
	var b bip340.Batch
	b.Verify(batch, ok)
	if n := testing.AllocsPerRun(5, func() { b.Verify(batch, ok) }); n > 2 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkBatch(b *testing.B) {
	r := rand.New(rand.NewPCG(13, 340))
	for _, n := range []int{1, 8, 16, 32, 64, 128, 256, 512} {
		for _, each := range []int{1, 8, n} {
			if each > n || each == 1 && n == 1 {
				continue
			}
			batch, ok := signMany(r, n, n/each), make([]bool, n)
			var v bip340.Batch
			b.Run(fmt.Sprintf("%d/each%d", n, each), func(b *testing.B) {
				for b.Loop() {
					v.Verify(batch, ok)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "us/sig")
			})
		}
	}
}
