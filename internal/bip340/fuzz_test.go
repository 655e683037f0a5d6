package bip340_test

import (
	"math/rand/v2"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"graspd/internal/bip340"
)

// fuzzPool are signatures that a fuzzed batch is made of: genuine ones by keys that repeat, by small secrets with small nonces,
// and some that break one rule.
func fuzzPool() []bip340.Signed {
	r := rand.New(rand.NewPCG(21, 340))
	pool := append(signMany(r, 24, 6), signMany(r, 8, 8)...)
	for i := range uint32(16) {
		s := newSigner(new(secp256k1.ModNScalar).SetInt(i%4 + 1))
		sig := s.sign([]byte{byte(i)}, new(secp256k1.ModNScalar).SetInt(i%5+1))
		pool = append(pool, bip340.Signed{Key: &s.public, Msg: []byte{byte(i)}, Sig: &sig})
	}
	for _, sig := range rulesBroken(newSigner(random(r)), pool[0].Msg, random(r)) {
		pool = append(pool, bip340.Signed{Key: pool[0].Key, Msg: pool[0].Msg, Sig: &sig})
	}
	return pool
}

// fuzzBatch reads how a batch is put together: each step of three bytes takes one from the pool and says what is done with it.
func fuzzBatch(pool []bip340.Signed, steps []byte) (batch []bip340.Signed) {
	for ; len(steps) >= 3 && len(batch) < 24; steps = steps[3:] {
		how, by := steps[1], steps[2]
		s := pool[int(steps[0])%len(pool)]
		key, sig, msg := *s.Key, *s.Sig, append([]byte{}, s.Msg...)
		delta := new(secp256k1.ModNScalar).SetInt(uint32(by) + 1)
		switch how % 16 {
		case 1:
			sig[by%64] ^= 1 << (how / 32)
		case 2:
			key[by%32] ^= 1 << (how / 32)
		case 3:
			msg = append(msg, by)
		case 4:
			sig = *plus(&sig, delta)
		case 5:
			sig = *plus(&sig, delta.Negate())
		case 6: // another's s
			copy(sig[32:], pool[int(by)%len(pool)].Sig[32:])
		case 7: // another's R
			copy(sig[:32], pool[int(by)%len(pool)].Sig[:32])
		case 8:
			key = *pool[int(by)%len(pool)].Key
		case 9: // next to the end of the field, or of the order
			for i := range 27 {
				sig[int(how)/128*32+i] = 0xff
			}
		case 10: // bytes as they come
			copy(sig[by%64:], steps[3:])
		case 11:
			copy(key[by%32:], steps[3:])
		}
		batch = append(batch, bip340.Signed{Key: &key, Msg: msg, Sig: &sig})
	}
	return batch
}

// FuzzBatch compares the verdicts on a batch, and on each of its signatures, with those of another implementation; and the sum
// by itself holds for nothing but genuine signatures and what has no form of one.
func FuzzBatch(f *testing.F) {
	pool := fuzzPool()
	f.Add([]byte("\x00\x00\x00\x01\x00\x00\x02\x00\x00\x03\x00\x00\x04\x00\x00"))
	f.Add([]byte("\x00\x04\x07\x06\x05\x07\x02\x00\x00\x03\x00\x00\x04\x00\x00\x08\x00\x00"))
	f.Add([]byte("\x20\x00\x00\x21\x00\x00\x24\x00\x00\x25\x00\x00\x30\x00\x00\x31\x00\x00\x32\x00\x00"))
	f.Add([]byte("\x00\x01\x09\x00\x09\x00\x00\x89\x00\x01\x06\x02\x01\x07\x02\x03\x08\x04"))
	var b bip340.Batch
	f.Fuzz(func(t *testing.T, steps []byte) {
		batch := fuzzBatch(pool, steps)
		want := oracleOf(batch)
		agreeWith(t, &b, batch, want)
		form := make([]bool, len(batch))
		held := b.Holds(batch, form)
		for i, s := range batch {
			genuine := want[i]
			if held && form[i] != genuine || genuine && !form[i] {
				t.Errorf("the sum holds: %v, %d has the form: %v, is genuine: %v", held, i, form[i], genuine)
			}
			if bip340.Verify(s.Key, s.Msg, s.Sig) != genuine {
				t.Errorf("%d is genuine: %v", i, genuine)
			}
		}
	})
}
