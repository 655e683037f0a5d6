package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// ErrPromise says that an object store does not keep what Store promises. The error names the promise.
var ErrPromise = errors.New("the object store cannot be used, as it does not keep a promise")

// Bounds of a trial: the names that several writers want at once, and the writers of each.
const (
	triedNames   = 3
	triedWriters = 8
)

// Try finds out whether a store keeps its promises, with some small objects below a prefix that nobody else uses, such as "trial/" and a random
// number; it removes them again. It fails with ErrPromise where one is not kept, and with what the store said where it could not be tried.
func Try(ctx context.Context, s Store, prefix string) (err error) {
	s = Patient{Store: s}
	there, err := s.List(ctx, prefix, "", 1)
	if err == nil && len(there) > 0 {
		err = fmt.Errorf("it has %s", there[0].Name)
	}
	if err != nil {
		return trouble(err, "")
	}
	t := trial{s, prefix}
	defer func() { err = errors.Join(err, t.remove(ctx)) }()
	for i := range triedNames {
		if err := t.race(ctx, fmt.Sprint(prefix, i)); err != nil {
			return err
		}
	}
	return t.once(ctx, fmt.Sprint(prefix, triedNames))
}

type trial struct {
	s      Store
	prefix string
}

// trouble returns what the store said, or which promise it does not keep.
func trouble(err error, promise string, args ...any) error {
	if err != nil {
		return fmt.Errorf("try the object store: %w", err)
	}
	return fmt.Errorf("%w: "+promise, append([]any{ErrPromise}, args...)...)
}

// once tries what one writer sees.
func (t trial) once(ctx context.Context, name string) error {
	text := []byte("what the first writer of this name has written")
	if _, err := t.s.Put(ctx, name, bytes.NewReader(text)); err != nil {
		return trouble(err, "")
	}
	if b, err := t.s.Get(ctx, name, 0, MaxPart); err != nil && !errors.Is(err, ErrNone) || !bytes.Equal(b, text) {
		return trouble(other(err), "a read does not see at once what was written")
	}
	if b, err := t.s.Get(ctx, name, 9, 5); err != nil || string(b) != "first" {
		return trouble(err, "a read of a part gives %q", b)
	}
	if there, err := t.s.List(ctx, t.prefix, "", MaxList); err != nil || !names(there, t.prefix) {
		return trouble(err, "a list does not see at once what was written")
	}
	if o, err := t.s.Put(ctx, name, strings.NewReader("other")); err != nil || o != Exists {
		return trouble(err, "an object that is there is written again (If-None-Match: *)")
	}
	if b, err := t.s.Get(ctx, name, 0, MaxPart); err != nil || !bytes.Equal(b, text) {
		return trouble(err, "an object that is there is replaced, although its writer heard no (If-None-Match: *)")
	}
	return nil
}

// other is an error other than that there is no object.
func other(err error) error {
	if errors.Is(err, ErrNone) {
		return nil
	}
	return err
}

// names reports whether a list has the objects of a trial, and no others.
func names(there []Info, prefix string) bool {
	for i, o := range there {
		if o.Name != fmt.Sprint(prefix, i) {
			return false
		}
	}
	return len(there) == triedNames+1
}

// race lets several writers want one name at once. The one whose object is there may be told so, and nobody else.
func (t trial) race(ctx context.Context, name string) error {
	var outcomes [triedWriters]Outcome
	var errs [triedWriters]error
	var all sync.WaitGroup
	for w := range outcomes {
		all.Go(func() { outcomes[w], errs[w] = t.s.Put(ctx, name, bytes.NewReader([]byte{byte(w)})) })
	}
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return trouble(err, "")
	}
	b, err := t.s.Get(ctx, name, 0, MaxPart)
	if other(err) != nil || len(b) != 1 || int(b[0]) >= triedWriters {
		return trouble(other(err), "a read does not see at once what was written")
	}
	outcomes[b[0]] = Exists
	if w := slices.Index(outcomes[:], Done); w >= 0 {
		return trouble(nil, "of several writers of one name another one was told that it wrote it than the one who did (If-None-Match: *)")
	}
	return nil
}

// remove removes what a trial has written, also where its context has ended meanwhile.
func (t trial) remove(ctx context.Context) error {
	ctx, over := context.WithTimeout(context.WithoutCancel(ctx), slow)
	defer over()
	for i := range triedNames + 1 {
		if err := t.s.Delete(ctx, fmt.Sprint(t.prefix, i)); err != nil {
			return fmt.Errorf("remove a trial from the object store: %w", err)
		}
	}
	return nil
}
