package node

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// readKey reads the relay's key from the bucket. It fails with objects.ErrNone where there is none.
func (b *Bucket) readKey(ctx context.Context) (key nostr.SecretKey, err error) {
	text, err := objects.Patient{Store: b.Objects}.Get(ctx, keyObject, 0, mostKey)
	if err == nil {
		key, err = ParseKey(text)
	}
	if err != nil {
		return key, fmt.Errorf("the relay's key in the bucket: %w", err)
	}
	return key, nil
}

// putKey writes the relay's key to a bucket that had none just now.
func (b *Bucket) putKey(ctx context.Context, key nostr.SecretKey) error {
	var text bytes.Buffer
	if err := WriteKey(&text, key); err != nil {
		return err
	}
	if _, err := (objects.Patient{Store: b.Objects}).Put(ctx, keyObject, bytes.NewReader(text.Bytes())); err != nil {
		return fmt.Errorf("write the relay's key to the bucket: %w", err)
	}
	there, err := b.readKey(ctx)
	if err == nil && there != key {
		err = fmt.Errorf("%w: another one came into the bucket just now", ErrOtherKey)
	}
	return err
}

// mostKey is how many bytes of a key are read, more than one has.
const mostKey = 4 << 10

// keyObject is the name of the relay's key in a bucket, as the key is in its file.
const keyObject = keyFile

// shareKey brings the relay's key from the bucket to the data directory, or the other way round.
func (b *Bucket) shareKey(ctx context.Context, dir string) error {
	there, err := b.readKey(ctx)
	if err != nil && !errors.Is(err, objects.ErrNone) {
		return err
	}
	if err == nil {
		if here, err := ReadKey(dir); err == nil && here == there { // who has the store open may come here
			return nil
		}
		err := SetKey(dir, there, false)
		if errors.Is(err, ErrOtherKey) {
			err = fmt.Errorf("%w than the bucket says, whose object %s has it: remove the wrong one of the two", err, keyObject)
		}
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	key, err := LoadKey(dir)
	if err != nil {
		return err
	}
	return b.putKey(ctx, key)
}

// secretObject is the name, in a bucket, of the secret by which the nodes that share it know each other, and secretBytes how long it is.
const (
	secretObject = "cluster.key"
	secretBytes  = 26
)

// secret returns what only nodes know that may read the bucket. It makes one where there is none.
func (b *Bucket) secret(ctx context.Context) (string, error) {
	o := objects.Patient{Store: b.Objects}
	for {
		text, err := o.Get(ctx, secretObject, 0, mostKey)
		switch {
		case err == nil && len(text) < secretBytes:
			return "", fmt.Errorf("the secret of the nodes in the bucket, %s, has %d bytes: remove it, and a start makes another one", secretObject, len(text))
		case err == nil:
			return string(text), nil
		case !errors.Is(err, objects.ErrNone):
			return "", fmt.Errorf("the secret of the nodes in the bucket: %w", err)
		}
		if _, err := o.Put(ctx, secretObject, strings.NewReader(rand.Text())); err != nil { // what another node has put meanwhile counts
			return "", fmt.Errorf("write the secret of the nodes to the bucket: %w", err)
		}
	}
}
