package node

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// keyFile holds the relay's own secret key as hex, readable by its owner alone.
const keyFile = "relay.key"

// identityIn returns the identity whose key is in a data directory.
func identityIn(dir string) (Identity, error) {
	key, err := LoadKey(dir)
	if err != nil {
		return Identity{}, err
	}
	return Identity{key.PubKey(), Signer(key)}, nil
}

// LoadKey reads the relay's key from its data directory. LoadKey makes a key where there is none.
func LoadKey(dir string) (nostr.SecretKey, error) {
	key, err := ReadKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(filepath.Join(dir, keyFile))
	}
	return key, err
}

// ReadKey reads the relay's key from its data directory. Where there is none the error is fs.ErrNotExist.
func ReadKey(dir string) (nostr.SecretKey, error) {
	path := filepath.Join(dir, keyFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nostr.SecretKey{}, fmt.Errorf("read the relay's key: %w", err)
	}
	key, err := ParseKey(b)
	if err != nil {
		err = fmt.Errorf("read the relay's key: %s: %w", path, err)
	}
	return key, err
}

// ParseKey reads a secret key as WriteKey writes it: 64 hex digits, perhaps with white space around them.
func ParseKey(b []byte) (key nostr.SecretKey, err error) {
	b = bytes.TrimSpace(b)
	if len(b) != hex.EncodedLen(len(key)) {
		return nostr.SecretKey{}, errors.New("it does not hold 64 hex digits")
	}
	if _, err := hex.Decode(key[:], b); err != nil {
		return nostr.SecretKey{}, errors.New("it does not hold 64 hex digits")
	}
	if key.PubKey() == (nostr.PubKey{}) {
		return nostr.SecretKey{}, errors.New("these 64 hex digits are no secret key")
	}
	return key, nil
}

// WriteKey writes a secret key in the form in which a relay keeps it.
func WriteKey(w io.Writer, key nostr.SecretKey) error {
	_, err := fmt.Fprintf(w, "%x\n", key[:])
	return err
}

// ErrOtherKey says that the data directory has another key already.
var ErrOtherKey = errors.New("this relay has another key")

// SetKey writes the key of a relay that does not run, and makes the data directory where there is none. SetKey fails with store.ErrInUse
// where the relay runs, and with ErrOtherKey where the directory has another key and replace is false.
func SetKey(dir string, key nostr.SecretKey, replace bool) (err error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	held, err := store.Hold(StoreIn(dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	before, err := ReadKey(dir)
	switch {
	case err == nil && before == key:
		return nil
	case err == nil && !replace:
		return ErrOtherKey
	case err != nil && !errors.Is(err, fs.ErrNotExist) && !replace:
		return err
	}
	path := filepath.Join(dir, keyFile)
	if err := writeKeyFile(path+".new", key); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return errors.Join(err, os.Remove(path+".new"))
	}
	return syncDir(dir)
}

// writeKeyFile makes a file with a key, for its owner alone.
func writeKeyFile(path string, key nostr.SecretKey) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return NewKeyFile(path, key)
}

// NewKeyFile writes a key into a new file, readable by its owner alone, and makes the file durable.
func NewKeyFile(path string, key nostr.SecretKey) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the relay's key: %w", err)
	}
	if err = errors.Join(WriteKey(f, key), f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write the relay's key: %w", err), os.Remove(path))
	}
	return nil
}

func makeKey(path string) (nostr.SecretKey, error) {
	key, err := nostr.GenerateKey(rand.Reader)
	if err != nil {
		return key, fmt.Errorf("make the relay's key: %w", err)
	}
	return key, NewKeyFile(path, key)
}

// Signer returns a function that signs events with key.
func Signer(key nostr.SecretKey) func(*nostr.Event) error {
	return func(e *nostr.Event) error {
		var aux [32]byte
		if _, err := rand.Read(aux[:]); err != nil {
			return fmt.Errorf("random bytes: %w", err)
		}
		return key.Sign(e, aux)
	}
}
