package logtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// Directory is a log in a directory, a file for each entry. Processes that share the disk may share the log.
type Directory string

// name is the path of an entry's file.
func (d Directory) name(at commitlog.Position) string {
	return filepath.Join(string(d), fmt.Sprintf("%020d", at))
}

// Append implements commitlog.Log. It writes the entry under another name first, so that no kill leaves a part of an entry at its position.
func (d Directory) Append(ctx context.Context, at commitlog.Position, before commitlog.Chain, body []byte) (commitlog.Result, error) {
	if err := context.Cause(ctx); err != nil {
		return commitlog.Unknown, err
	}
	f, err := os.CreateTemp(string(d), "new-") // which makes it with O_EXCL
	if err != nil {
		return commitlog.Unknown, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(commitlog.NewEntry(at, before, body).Append(nil))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return commitlog.Unknown, err
	}
	switch err := os.Link(f.Name(), d.name(at)); {
	case errors.Is(err, fs.ErrExist):
		return commitlog.Refused, nil
	case err != nil:
		return commitlog.Unknown, err
	}
	if err := d.sync(); err != nil {
		return commitlog.Unknown, err
	}
	return commitlog.Done, nil
}

func (d Directory) sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Read implements commitlog.Log.
func (d Directory) Read(ctx context.Context, at commitlog.Position) (commitlog.Entry, error) {
	if err := context.Cause(ctx); err != nil {
		return commitlog.Entry{}, err
	}
	b, err := os.ReadFile(d.name(at))
	if errors.Is(err, fs.ErrNotExist) {
		return commitlog.Entry{}, d.none(at)
	}
	if err != nil {
		return commitlog.Entry{}, err
	}
	return commitlog.ParseEntry(at, b)
}

// none says why there is no entry at a position.
func (d Directory) none(at commitlog.Position) error {
	all, err := os.ReadDir(string(d))
	if err != nil {
		return err
	}
	for _, f := range all {
		if at > 0 && !strings.HasPrefix(f.Name(), "new-") && filepath.Join(string(d), f.Name()) > d.name(at) {
			return commitlog.ErrGap
		}
	}
	return commitlog.ErrNone
}
