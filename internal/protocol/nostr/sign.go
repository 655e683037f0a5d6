package nostr

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
)

// ErrSecretKey says that 32 bytes are no secret key: they are zero, or not below the order of the curve.
var ErrSecretKey = errors.New("not a secret key")

// SecretKey signs events. Every way of printing it gives the same fixed word, so that the key gets into no log.
type SecretKey [32]byte

// String hides the key.
func (SecretKey) String() string { return "secret key" }

// GoString hides the key from %#v too.
func (SecretKey) GoString() string { return "secret key" }

// GenerateKey takes keys from rand until one is valid. Where the key matters, rand must be a cryptographic source.
func GenerateKey(rand io.Reader) (SecretKey, error) {
	for {
		var k SecretKey
		if _, err := io.ReadFull(rand, k[:]); err != nil {
			return SecretKey{}, fmt.Errorf("generate key: %w", err)
		}
		if _, err := k.pair(); err == nil {
			return k, nil
		}
	}
}

// PubKey returns the public key of k. For an invalid key it returns zero, for which nothing verifies.
func (k SecretKey) PubKey() PubKey {
	p, err := k.pair()
	if err != nil {
		return PubKey{}
	}
	return p.pk
}

// Sign sets the author, id and signature of e. The same key, event and aux give the same signature. BIP-340 is secure with any aux, and
// harder to attack through side channels with a random one. The arithmetic is not constant-time, and Sign does not verify the signature.
// Sign refuses an invalid key (ErrSecretKey) and an event that no relay could parse (invalid UTF-8, negative created_at), and then leaves e
// as it was.
func (k SecretKey) Sign(e *Event, aux [32]byte) error {
	p, err := k.pair()
	if err == nil {
		err = e.encodable()
	}
	if err != nil {
		return fmt.Errorf("sign event: %w", err)
	}
	e.raw = ""
	e.PubKey = p.pk
	e.ID = e.ComputeID()
	e.Sig = p.sign(e.ID[:], aux)
	return nil
}

// encodable says why others could not parse the event; nil where they can.
func (e *Event) encodable() error {
	if e.CreatedAt < 0 {
		return errors.New("created_at: negative number")
	}
	if !utf8.ValidString(e.Content) {
		return errors.New("content: invalid UTF-8")
	}
	for _, t := range e.Tags {
		for _, s := range t {
			if !utf8.ValidString(s) {
				return errors.New("tags: invalid UTF-8")
			}
		}
	}
	return nil
}

// keyPair is a secret key in the form with which BIP-340 signs: d*G is the point with x coordinate pk and an even y.
type keyPair struct {
	d  secp256k1.ModNScalar
	pk PubKey
}

func (k SecretKey) pair() (p keyPair, err error) {
	if p.d.SetBytes((*[32]byte)(&k)) != 0 || p.d.IsZero() {
		return keyPair{}, ErrSecretKey
	}
	p.pk = evenPoint(&p.d)
	return p, nil
}

// sign signs a message of any length by the default signing of BIP-340.
func (p *keyPair) sign(msg []byte, aux [32]byte) Sig {
	mask := taggedHash("BIP0340/aux", aux[:])
	t := p.d.Bytes()
	for i := range t {
		t[i] ^= mask[i]
	}
	h := taggedHash("BIP0340/nonce", t[:], p.pk[:], msg)
	var k, e secp256k1.ModNScalar
	k.SetBytes(&h) // zero with a chance of 2^-256
	rx := evenPoint(&k)
	challenge(&e, &rx, &p.pk, msg)
	s := e.Mul(&p.d).Add(&k).Bytes()
	return Sig(append(rx[:], s[:]...))
}

// evenPoint returns the x coordinate of d*G, and negates d if that point's y is odd.
func evenPoint(d *secp256k1.ModNScalar) (x PubKey) {
	var p secp256k1.JacobianPoint
	secp256k1.ScalarBaseMultNonConst(d, &p)
	p.ToAffine()
	if p.Y.IsOdd() {
		d.Negate()
	}
	p.X.PutBytes((*[32]byte)(&x))
	return x
}

// challenge sets e to the BIP-340 challenge of R, P and the message, modulo n.
func challenge(e *secp256k1.ModNScalar, rx, pk *PubKey, msg []byte) {
	h := taggedHash("BIP0340/challenge", rx[:], pk[:], msg)
	e.SetBytes(&h)
}

// taggedHash computes the tagged hash of BIP-340: SHA-256 over the tag's hash, written twice, and the message.
func taggedHash(tag string, parts ...[]byte) [32]byte {
	t := sha256.Sum256([]byte(tag))
	buf := make([]byte, 0, 192)
	buf = append(append(buf, t[:]...), t[:]...)
	for _, p := range parts {
		buf = append(buf, p...)
	}
	return sha256.Sum256(buf)
}
