package node

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/graspd/graspd/internal/nostr"
)

// keyFile holds the relay's own secret key as hex, readable by its owner alone.
const keyFile = "relay.key"

// identityIn is the relay whose data directory this is.
func identityIn(dir string) (Identity, error) {
	key, err := LoadKey(dir)
	if err != nil {
		return Identity{}, err
	}
	return Identity{key.PubKey(), Signer(key)}, nil
}

// LoadKey reads the relay's key from its data directory, or makes one.
func LoadKey(dir string) (nostr.SecretKey, error) {
	key, err := ReadKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(filepath.Join(dir, keyFile))
	}
	return key, err
}

// ReadKey reads the relay's key from its data directory.
func ReadKey(dir string) (nostr.SecretKey, error) {
	path := filepath.Join(dir, keyFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nostr.SecretKey{}, fmt.Errorf("read the relay's key: %w", err)
	}
	var key nostr.SecretKey
	if n, err := hex.Decode(key[:], []byte(strings.TrimSpace(string(b)))); err != nil || n != len(key) {
		return key, fmt.Errorf("read the relay's key: %s does not hold 64 hex digits", path)
	}
	return key, nil
}

func makeKey(path string) (nostr.SecretKey, error) {
	key, err := nostr.GenerateKey(rand.Reader)
	if err != nil {
		return key, fmt.Errorf("make the relay's key: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return key, fmt.Errorf("write the relay's key: %w", err)
	}
	_, err = fmt.Fprintf(f, "%x\n", key[:])
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return key, errors.Join(fmt.Errorf("write the relay's key: %w", err), os.Remove(path))
	}
	return key, nil
}

// Signer signs as the relay.
func Signer(key nostr.SecretKey) func(*nostr.Event) error {
	return func(e *nostr.Event) error {
		var aux [32]byte
		if _, err := rand.Read(aux[:]); err != nil {
			return fmt.Errorf("random bytes: %w", err)
		}
		return key.Sign(e, aux)
	}
}
