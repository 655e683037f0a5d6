package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ErrRunning says that another backup of the relay is being made; there is one at a time.
var ErrRunning = errors.New("a backup is under way")

// ErrCut says that a backup ends too early: whoever wrote or read it was interrupted.
var ErrCut = errors.New("this backup is cut short")

// Unpack reads a tar by Write into an empty directory, without the marks, and makes it durable. It takes only what Write writes. It fails
// with ErrCut where the tar ends too early, and leaves what it has read. It calls done with the bytes of files that it has read so far.
func Unpack(ctx context.Context, r io.Reader, dir string, done func(int64)) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	u := &unpacking{stopped: stoppedBy(ctx), root: root, done: done, sums: map[string]string{}}
	in := tar.NewReader(r)
	for whole := false; ; {
		h, err := in.Next()
		switch {
		case errors.Is(err, io.EOF) && whole:
			return u.sync()
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return ErrCut
		case err != nil:
			return err
		case whole:
			return fmt.Errorf("%q stands behind the end of the backup", h.Name)
		case h.Name == End && h.Typeflag == tar.TypeReg:
			whole, err = true, u.compare(in)
		default:
			err = u.entry(h, in)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return ErrCut
		}
		if err != nil {
			return err
		}
	}
}

type unpacking struct {
	stopped func() error
	root    *os.Root
	done    func(int64)
	sums    map[string]string // of the files, in hex
	dirs    []string
	bytes   int64
}

func (u *unpacking) entry(h *tar.Header, in io.Reader) error {
	if err := u.stopped(); err != nil {
		return err
	}
	name := path.Clean(h.Name)
	switch {
	case !filepath.IsLocal(filepath.FromSlash(name)) || h.Typeflag != tar.TypeDir && h.Typeflag != tar.TypeReg:
		return fmt.Errorf("%q does not belong into a backup", h.Name)
	case h.Name == Begin:
		return nil
	case h.Typeflag == tar.TypeDir:
		u.dirs = append(u.dirs, name)
		return u.root.Mkdir(name, 0o700)
	}
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(&told{u.stopped, io.MultiWriter(f, sum), u.bytes, u.done}, in)
	u.bytes += n
	u.sums[name] = hex.EncodeToString(sum.Sum(nil))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// compare reads End, and fails where the files that were read are not those that it lists.
func (u *unpacking) compare(in io.Reader) error {
	listed, err := readEnd(in)
	if err != nil {
		return err
	}
	if len(listed) != len(u.sums) {
		return fmt.Errorf("the backup has %d files and lists %d", len(u.sums), len(listed))
	}
	for _, l := range listed {
		if u.sums[l.name] != l.sum {
			return fmt.Errorf("%s is not as it was when the backup was made", l.name)
		}
	}
	return nil
}

// sync makes the names of the files durable, those in inner directories first.
func (u *unpacking) sync() error {
	for i := len(u.dirs) - 1; i >= -1; i-- {
		name := "."
		if i >= 0 {
			name = u.dirs[i]
		}
		f, err := u.root.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

type line struct{ sum, name string }

// readEnd reads End. It fails with ErrCut where the last line is missing.
func readEnd(r io.Reader) (lines []line, err error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		sum, name, ok := strings.Cut(s.Text(), "  ")
		if !ok {
			break
		}
		lines = append(lines, line{sum, name})
	}
	if s.Err() != nil || s.Text()+"\n" != last(len(lines)) || !bytes.HasSuffix(b, []byte(last(len(lines)))) {
		return nil, ErrCut
	}
	return lines, nil
}

// Marked reports whether a directory was filled from the tar of a backup and nobody has opened the data in it since.
func Marked(dir string) (bool, error) {
	_, err := os.Lstat(filepath.Join(dir, Begin))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Verify reads every file of a directory that is Marked, and returns a sentence for each file that is missing or has changed. It fails with
// ErrCut where the tar was cut short.
func Verify(ctx context.Context, dir string) (problems []string, err error) {
	lines, err := listed(dir)
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		switch sum, err := sumOf(filepath.Join(dir, filepath.FromSlash(l.name))); {
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, l.name+" of the backup is missing")
		case err != nil:
			return nil, err
		case sum != l.sum:
			problems = append(problems, l.name+" is not as it was when the backup was made")
		}
	}
	return problems, nil
}

func listed(dir string) ([]line, error) {
	f, err := os.Open(filepath.Join(dir, End))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrCut
	}
	if err != nil {
		return nil, err
	}
	lines, err := readEnd(f)
	return lines, errors.Join(err, f.Close())
}

// complete returns how large a file is, and reports whether it ends as a tar by Write does. One that was cut short does not.
func complete(name string) (size int64, ended bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	b := make([]byte, min(tail, info.Size()))
	if _, err := f.ReadAt(b, info.Size()-int64(len(b))); err != nil && !errors.Is(err, io.EOF) {
		return 0, false, err
	}
	body, zeros := bytes.CutSuffix(b, make([]byte, 2*block))
	body = bytes.TrimRight(body, "\x00")
	i := bytes.LastIndexByte(bytes.TrimSuffix(body, []byte("\n")), '\n')
	var files int
	n, _ := fmt.Sscanf(string(body[i+1:]), lastLine, &files)
	return info.Size(), zeros && n == 1 && string(body[i+1:]) == last(files), nil
}

// A tar ends with the last line, zeros that fill its block, and two blocks of zeros; tail bytes have all of these.
const (
	block = 512
	tail  = 4 * block
)

func sumOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}

// Accept takes the marks out of a directory that is about to be used as a data directory: from then on its files change. It fails with ErrCut,
// and changes nothing, where a file of the backup is missing.
func Accept(dir string) error {
	if marked, err := Marked(dir); err != nil || !marked {
		return err
	}
	lines, err := listed(dir)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(l.name))); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: it has no %s", ErrCut, l.name)
		} else if err != nil {
			return err
		}
	}
	return Unmark(dir)
}

// Unmark takes the marks out of a directory, whatever else it has.
func Unmark(dir string) error {
	for _, name := range []string{Begin, End} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
