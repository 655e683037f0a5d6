package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/sleep"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// How often a bucket is asked about the key, and how long each time.
const (
	keyTries = 8
	keyTime  = 10 * time.Second
	keyPause = 200 * time.Millisecond
)

// readKey reads the relay's key from the bucket. It fails with objects.ErrNone where there is none.
func (b *Bucket) readKey(ctx context.Context) (key nostr.SecretKey, err error) {
	for range keyTries {
		if key, err = b.askKey(ctx); err == nil || errors.Is(err, objects.ErrNone) {
			return key, err
		}
		if late := sleep.For(ctx, keyPause); late != nil {
			return key, late
		}
	}
	return key, err
}

func (b *Bucket) askKey(ctx context.Context) (key nostr.SecretKey, err error) {
	ctx, over := context.WithTimeout(ctx, keyTime)
	defer over()
	text, err := b.Objects.Get(ctx, keyObject, 0, objects.MaxPart)
	if err == nil {
		key, err = ParseKey(text)
	}
	if err != nil {
		return key, fmt.Errorf("the relay's key in the bucket: %w", err)
	}
	return key, nil
}

// putKey writes the relay's key to a bucket that had none just now.
func (b *Bucket) putKey(ctx context.Context, key nostr.SecretKey) (err error) {
	var text bytes.Buffer
	if err := WriteKey(&text, key); err != nil {
		return err
	}
	for range keyTries {
		if err = b.tellKey(ctx, text.Bytes()); err == nil {
			break
		}
		if late := sleep.For(ctx, keyPause); late != nil {
			return late
		}
	}
	if err != nil {
		return fmt.Errorf("write the relay's key to the bucket: %w", err)
	}
	there, err := b.readKey(ctx)
	if err == nil && there != key {
		err = fmt.Errorf("%w: another one came into the bucket just now", ErrOtherKey)
	}
	return err
}

func (b *Bucket) tellKey(ctx context.Context, text []byte) error {
	ctx, over := context.WithTimeout(ctx, keyTime)
	defer over()
	_, err := b.Objects.Put(ctx, keyObject, bytes.NewReader(text))
	return err
}

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
