package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/backup"
)

// backupOptions are the settings of the backup command.
type backupOptions struct {
	Config
	admin   string // the private listener of the relay
	byRelay bool   // a running relay writes the directory itself
}

func (o *backupOptions) settings(env environment) []setting {
	return append(o.dataSettings(), adminURL("admin", adminAt(env), "private listener of the relay, if it runs", &o.admin),
		boolean("by-relay", "false", "have the running relay write DIR itself, as its user and where it may write; on the disk of its data that takes a moment and little room", &o.byRelay))
}

// backupCommand copies a data directory. Where a graspd has it open, that graspd makes the copy.
func backupCommand(ctx context.Context, args []string, std stdio, env environment) error {
	var o backupOptions
	rest, problems, err := parse("backup", o.settings(env), args, env)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		problems = append(problems, fmt.Sprintf("backup takes one new directory DIR, or - for a tar on the standard output, got %q", rest))
	}
	toTar := len(rest) == 1 && rest[0] == "-"
	if toTar && isTerminal(std.out) {
		problems = append(problems, "a backup is no text for a terminal: send it into a file or another command, as in (umask 077; graspd backup - >graspd.tar)")
	}
	if toTar {
		problems = append(problems, readByOthers(std.out, "a backup", "graspd backup - >graspd.tar")...)
	}
	if toTar && o.byRelay {
		problems = append(problems, "--by-relay needs a directory")
	}
	if err := misused(problems); err != nil {
		return err
	}
	if toTar {
		err = o.writeTar(ctx, std)
	} else {
		err = o.makeDirectory(ctx, rest[0], std)
	}
	if errors.Is(err, node.ErrCold) {
		err = fmt.Errorf("%w: make the backup while the relay runs, or use graspd bucket export", err)
	}
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// meter returns functions that show how much of a backup was written: show at first takes the size, then the bytes so far. The caller
// calls end at the end.
func (o *backupOptions) meter(std stdio) (show func(size int64) func(int64), end func()) {
	m := meterOf(std, o.Quiet, "backup", "MiB")
	return func(size int64) func(int64) {
		return func(done int64) { m.Show(done, size, done>>20) }
	}, m.End
}

// writeTar writes the backup to the standard output.
func (o *backupOptions) writeTar(ctx context.Context, std stdio) error {
	show, end := o.meter(std)
	defer end()
	err := node.StreamClosed(ctx, o.Data, o.storeOptions(), func(size int64) (io.Writer, func(int64), error) {
		return std.out, show(size), nil
	})
	if !errors.Is(err, store.ErrInUse) {
		return err
	}
	return o.fromRelay(ctx, func(size int64, r io.Reader) error {
		_, err := io.Copy(&countingWriter{std.out, 0, show(size)}, r)
		return err
	})
}

// countingWriter is a writer that tells after each write how many bytes it has written.
type countingWriter struct {
	io.Writer
	n    int64
	tell func(int64)
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n += int64(n)
	c.tell(c.n)
	return n, err
}

// makeDirectory writes the backup into a new directory.
func (o *backupOptions) makeDirectory(ctx context.Context, name string, std stdio) error {
	dir, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	err = node.CopyClosed(o.Data, dir, o.storeOptions())
	switch {
	case errors.Is(err, store.ErrInUse) && o.byRelay:
		err = askForBackup(ctx, o.Data, o.admin, dir)
	case errors.Is(err, store.ErrInUse):
		err = node.NewCopy(dir, func(to string) error {
			show, end := o.meter(std)
			defer end()
			return o.fromRelay(ctx, func(size int64, r io.Reader) error { return backup.Unpack(ctx, r, to, show(size)) })
		})
	}
	if err == nil && !o.byRelay {
		err = chownLike(o.Data, dir)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "copied to %s; to use the copy, start graspd with --data %s\n", dir, dir)
	return nil
}

// fromRelay asks the running graspd for a backup as a tar, and hands its size and its bytes to take.
func (o *backupOptions) fromRelay(ctx context.Context, take func(size int64, r io.Reader) error) error {
	r, err := request(ctx, o.Data, o.admin, admin.BackupRequest{Tar: true})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	size, err := strconv.ParseInt(r.Header.Get(admin.BackupSize), 10, 64)
	if err != nil {
		return fmt.Errorf("the graspd at %s answers with no tar; is it older than this command? --by-relay asks as before", o.admin)
	}
	body := &errReader{Reader: r.Body}
	if err := take(size, body); body.err == nil {
		return err
	}
	return fmt.Errorf("%w: the graspd at %s ended it (%w); its log says why", backup.ErrCut, o.admin, body.err)
}

// errReader reads the body of an answer and remembers an error that ended it too early.
type errReader struct {
	io.Reader
	err error
}

func (b *errReader) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// askForBackup has the running graspd make the copy.
func askForBackup(ctx context.Context, data, base, dir string) error {
	r, err := request(ctx, data, base, admin.BackupRequest{Dir: dir})
	if err != nil {
		return err
	}
	return r.Body.Close()
}

// request asks the running graspd for a backup. Whoever can read the relay's key may ask. The caller closes the body of the answer.
func request(ctx context.Context, data, base string, q admin.BackupRequest) (*http.Response, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	r, err := listener{base: base, data: data}.do(ctx, http.MethodPost, "/backup", body)
	if err != nil {
		return nil, fmt.Errorf("%s is in use: %w", data, err)
	}
	if r.StatusCode == http.StatusOK {
		return r, nil
	}
	defer r.Body.Close()
	text, err := io.ReadAll(io.LimitReader(r.Body, 16<<10))
	if err == nil {
		err = fmt.Errorf("the graspd at %s: %s", base, strings.TrimSpace(string(text)))
	}
	return nil, err
}
