// Package backup makes a tar of a data directory and reads it again. The tar tells whether it is complete. Read Write, Unpack and Verify. A
// Scheduler has a running relay make such tars by itself.
package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The marks of a backup: Begin is the first file in a tar and End the last one. A directory with Begin but without the whole of End was filled
// from a tar that was cut short. End has a line for each file as sha256sum writes it, and a last line with the number of files.
const (
	Begin = "BACKUP"
	End   = "BACKUP.sha256"
)

// Start takes the size of all files when a backup is about to be written. It returns where the backup goes, and a function to call with the
// number of bytes written so far.
type Start func(size int64) (w io.Writer, done func(int64), err error)

// Size returns how many bytes the files in a directory have.
func Size(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}

// Write writes the directories and files in dir as a tar, with access for their owners alone and with the owners' numbers. Nobody changes
// them meanwhile. at is the time whose state they have. Write calls done with the bytes of files that it has written so far.
func Write(ctx context.Context, w io.Writer, dir string, at time.Time, done func(int64)) error {
	t := &writing{stopped: stoppedBy(ctx), tar: tar.NewWriter(w), at: at, done: done}
	owner, err := os.Stat(dir)
	if err != nil {
		return err
	}
	mark := fmt.Sprintf("graspd backup of %s. Without a whole %s beside it this directory is a part of one only.\n", at.UTC().Format(time.RFC3339), End)
	if err := t.mark(Begin, []byte(mark), owner); err != nil {
		return err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return t.entry(path, filepath.ToSlash(name), d)
	})
	if err != nil {
		return err
	}
	if err := t.mark(End, append(t.sums.Bytes(), last(t.files)...), owner); err != nil {
		return err
	}
	return t.tar.Close()
}

// stoppedBy returns a function that returns why ctx has ended; nil while it has not.
func stoppedBy(ctx context.Context) func() error {
	return func() error { return context.Cause(ctx) }
}

const lastLine = "# complete: %d files\n"

// last returns the last line of End.
func last(files int) string { return fmt.Sprintf(lastLine, files) }

type writing struct {
	stopped func() error
	tar     *tar.Writer
	at      time.Time
	done    func(int64)
	sums    bytes.Buffer
	files   int
	bytes   int64
}

// mark writes a mark, with the owner of as.
func (t *writing) mark(name string, body []byte, as fs.FileInfo) error {
	h, err := headerOf(as, name)
	if err != nil {
		return err
	}
	h.Typeflag, h.Size, h.Mode, h.ModTime = tar.TypeReg, int64(len(body)), 0o600, t.at
	if err := t.tar.WriteHeader(h); err != nil {
		return err
	}
	_, err = t.tar.Write(body)
	return err
}

// headerOf returns the header of a file, without the names of its owner and group on this machine.
func headerOf(info fs.FileInfo, name string) (*tar.Header, error) {
	h, err := tar.FileInfoHeader(info, "")
	if err != nil {
		return nil, err
	}
	h.Name, h.Uname, h.Gname, h.Format = name, "", "", tar.FormatPAX
	h.AccessTime, h.ChangeTime = time.Time{}, time.Time{}
	h.Mode &= 0o700
	return h, nil
}

// entry writes a directory or a file.
func (t *writing) entry(path, name string, d fs.DirEntry) error {
	if err := t.stopped(); err != nil {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	if !info.IsDir() && !info.Mode().IsRegular() || strings.ContainsAny(name, "\n\\") {
		return fmt.Errorf("%q: neither a file nor a directory of graspd", path)
	}
	h, err := headerOf(info, name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		h.Name += "/"
		return t.tar.WriteHeader(h)
	}
	if err := t.tar.WriteHeader(h); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(&told{t.stopped, io.MultiWriter(t.tar, sum), t.bytes, t.done}, f)
	if err == nil && n != info.Size() {
		err = fmt.Errorf("%s: %w", path, io.ErrUnexpectedEOF)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	t.bytes += n
	t.files++
	fmt.Fprintf(&t.sums, "%x  %s\n", sum.Sum(nil), name)
	return nil
}

// told is a writer that calls done with the bytes written so far, and fails as soon as stopped does.
type told struct {
	stopped func() error
	w       io.Writer
	n       int64
	done    func(int64)
}

func (t *told) Write(b []byte) (int, error) {
	if err := t.stopped(); err != nil {
		return 0, err
	}
	n, err := t.w.Write(b)
	t.n += int64(n)
	t.done(t.n)
	return n, err
}
