package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"graspd/internal/nostr"
)

// keyFile holds the relay's own secret key as hex, readable by its owner alone.
const keyFile = "relay.key"

// loadKey reads the relay's key from the data directory, or makes one.
func loadKey(dir string) (nostr.SecretKey, error) {
	path := filepath.Join(dir, keyFile)
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(path)
	}
	return key, err
}

func readKey(path string) (nostr.SecretKey, error) {
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

// signer signs as the relay.
func signer(key nostr.SecretKey) func(*nostr.Event) error {
	return func(e *nostr.Event) error {
		var aux [32]byte
		if _, err := rand.Read(aux[:]); err != nil {
			return fmt.Errorf("random bytes: %w", err)
		}
		return key.Sign(e, aux)
	}
}
