package node

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
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

// putKey writes the relay's key to a bucket that had none just now, and returns the one that is there then: another node may have come first.
func (b *Bucket) putKey(ctx context.Context, key nostr.SecretKey) (there nostr.SecretKey, err error) {
	var text bytes.Buffer
	if err := WriteKey(&text, key); err != nil {
		return there, err
	}
	if _, err := (objects.Patient{Store: b.Objects}).Put(ctx, keyObject, bytes.NewReader(text.Bytes())); err != nil {
		return there, fmt.Errorf("write the relay's key to the bucket: %w", err)
	}
	return b.readKey(ctx)
}

// mostKey is how many bytes of a key are read, more than one has.
const mostKey = 4 << 10

// keyObject is the name of the relay's key in a bucket, as the key is in its file.
const keyObject = keyFile

// shareKey brings the relay's key from the bucket to the data directory, or the other way round. A key that is made comes to the bucket first: of
// several nodes that start beside an empty one all take the same.
func (b *Bucket) shareKey(ctx context.Context, dir string) error {
	here, wrong := ReadKey(dir)
	there, err := b.readKey(ctx)
	if errors.Is(err, objects.ErrNone) {
		key := here
		if errors.Is(wrong, fs.ErrNotExist) {
			if key, err = nostr.GenerateKey(rand.Reader); err != nil {
				return fmt.Errorf("make the relay's key: %w", err)
			}
		} else if wrong != nil {
			return wrong
		}
		there, err = b.putKey(ctx, key)
	}
	if err != nil || wrong == nil && here == there { // who has the store open may come here
		return err
	}
	err = SetKey(dir, there, false)
	if errors.Is(err, ErrOtherKey) {
		err = fmt.Errorf("%w than the bucket says, whose object %s has it: remove the wrong one of the two", err, keyObject)
	}
	return err
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
