package backup_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/operate/backup"
)

var at = time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)

// tree is a directory with these files.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var some = map[string]string{
	"relay.key": "secret", "store/000001.sst": strings.Repeat("table", 100_000), "store/CURRENT": "", "git/ab/cd/objects/pack/pack-1.pack": "PACK",
}

func written(t *testing.T, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	var told []int64
	if err := backup.Write(t.Context(), &b, dir, at, func(n int64) { told = append(told, n) }); err != nil {
		t.Fatal(err)
	}
	size, err := backup.Size(dir)
	if err != nil || len(told) == 0 || told[len(told)-1] != size {
		t.Errorf("%d bytes, told %v, %v", size, told, err)
	}
	return b.Bytes()
}

// contents are the files in a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		got[strings.TrimPrefix(path, dir+"/")] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, body := range want {
		if b, ok := got[name]; !ok || b != body {
			t.Errorf("%s: %d bytes, there %v", name, len(b), ok)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
}

// TestATarAndBack: what is written is read, for its owner alone, and nothing else is there.
func TestATarAndBack(t *testing.T) {
	b := written(t, tree(t, some))
	to := t.TempDir()
	var done int64
	if err := backup.Unpack(t.Context(), bytes.NewReader(b), to, func(n int64) { done = n }); err != nil {
		t.Fatal(err)
	}
	same(t, contents(t, to), some)
	if done != 500_010 {
		t.Errorf("told of %d bytes", done)
	}
	for name, mode := range map[string]fs.FileMode{"relay.key": 0o600, "store": 0o700, "git/ab/cd": 0o700} {
		if info, err := os.Stat(filepath.Join(to, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// TestATarThatIsCut is found out wherever it is cut, by who unpacks it here and by who looks at what tar made of it.
func TestATarThatIsCut(t *testing.T) {
	files := map[string]string{"relay.key": "secret", "store/a": "some", "store/b": strings.Repeat("more", 500)}
	b := written(t, tree(t, files))
	tail := bytes.LastIndex(b, []byte(" files\n")) + len(" files\n") // behind it are zeros
	for n := 0; n < tail; n += 97 {
		if err := backup.Unpack(t.Context(), bytes.NewReader(b[:n]), t.TempDir(), func(int64) {}); !errors.Is(err, backup.ErrCut) {
			t.Fatalf("cut at %d of %d: %v", n, len(b), err)
		}
		dir := byTar(t, b[:n])
		marked, err := backup.Marked(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !marked {
			if got := contents(t, dir); len(got) > 0 {
				t.Fatalf("cut at %d: unmarked, and has %d files", n, len(got))
			}
			continue
		}
		if _, err := backup.Verify(t.Context(), dir); !errors.Is(err, backup.ErrCut) {
			t.Fatalf("cut at %d: verified, %v", n, err)
		}
		if err := backup.Accept(dir); !errors.Is(err, backup.ErrCut) {
			t.Fatalf("cut at %d: accepted, %v", n, err)
		}
		if marked, _ = backup.Marked(dir); !marked {
			t.Fatal("what was not accepted is not marked any more")
		}
	}
}

// byTar is what a tar that stops at the first error makes of it.
func byTar(t *testing.T, b []byte) string {
	t.Helper()
	dir := t.TempDir()
	in := tar.NewReader(bytes.NewReader(b))
	for {
		h, err := in.Next()
		if err != nil {
			return dir
		}
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.Mkdir(path, h.FileInfo().Mode())
		} else {
			body, bad := io.ReadAll(in)
			if err = os.WriteFile(path, body, h.FileInfo().Mode()); bad != nil {
				return dir
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhatTarMakesOfIt: it verifies, each file that changes is named, and its marks go when it is accepted.
func TestWhatTarMakesOfIt(t *testing.T) {
	dir := byTar(t, written(t, tree(t, some)))
	if problems, err := backup.Verify(t.Context(), dir); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	if path, err := exec.LookPath("sha256sum"); err == nil {
		cmd := exec.CommandContext(t.Context(), path, "-c", "--strict", "--quiet", backup.End)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("sha256sum: %s", out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "store/CURRENT"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(dir, "relay.key")
	if err := os.Rename(gone, gone+"x"); err != nil {
		t.Fatal(err)
	}
	problems, err := backup.Verify(t.Context(), dir)
	if err != nil || strings.Join(problems, "; ") != "relay.key of the backup is missing; store/CURRENT is not as it was when the backup was made" {
		t.Errorf("%q, %v", problems, err)
	}
	if err := backup.Accept(dir); !errors.Is(err, backup.ErrCut) {
		t.Errorf("without a file: %v", err)
	}
	if err := os.Rename(gone+"x", gone); err != nil {
		t.Fatal(err)
	}
	if err := backup.Accept(dir); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, dir); len(got) != len(some) {
		t.Errorf("the marks are left: %d files", len(got))
	}
	if err := backup.Accept(dir); err != nil {
		t.Errorf("a directory without marks: %v", err)
	}
}

// TestATarOfAnother writes nothing outside of the directory, and takes no files but those of a backup.
func TestATarOfAnother(t *testing.T) {
	for _, h := range []tar.Header{
		{Name: "../out", Typeflag: tar.TypeReg}, {Name: "/out", Typeflag: tar.TypeReg}, {Name: "store", Typeflag: tar.TypeSymlink, Linkname: "/tmp"},
		{Name: "a/../../out", Typeflag: tar.TypeDir}, {Name: "dev", Typeflag: tar.TypeChar},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		err := backup.Unpack(t.Context(), &b, t.TempDir(), func(int64) {})
		if err == nil || errors.Is(err, backup.ErrCut) || !strings.Contains(err.Error(), "does not belong") {
			t.Errorf("%s: %v", h.Name, err)
		}
	}
	b := written(t, tree(t, some))
	i := bytes.Index(b, []byte("PACK"))
	b[i] ^= 1
	if err := backup.Unpack(t.Context(), bytes.NewReader(b), t.TempDir(), func(int64) {}); err == nil || !strings.Contains(err.Error(), "pack-1.pack is not as it was") {
		t.Errorf("a flipped bit: %v", err)
	}
}

// TestWritingEnds with its context and with a reader that has gone; what is no file is named.
func TestWritingEnds(t *testing.T) {
	dir := tree(t, some)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := backup.Write(ctx, io.Discard, dir, at, func(int64) { cancel(stop) })
	if !errors.Is(err, stop) {
		t.Errorf("stopped: %v", err)
	}
	r, w := io.Pipe()
	r.Close()
	if err := backup.Write(t.Context(), w, dir, at, func(int64) {}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("nobody reads: %v", err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := backup.Write(t.Context(), io.Discard, dir, at, func(int64) {}); err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("a link: %v", err)
	}
}
