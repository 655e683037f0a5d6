package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// filled is a data directory with a repository and some issues, and the same as an export.
func filled(t *testing.T, issues int) (dir, export string) {
	t.Helper()
	now := time.Now().Unix()
	owner, author := testkit.Key(1), testkit.Key(2)
	var lines bytes.Buffer
	lines.Write(append(testkit.Announcement(owner, now-1000, "proj", "wss://relay.example.org").AppendJSON(nil), '\n'))
	for i := range issues {
		e := testkit.Issue(author, now-int64(i), testkit.RepositoryAddress(owner, "proj"), fmt.Sprint("issue ", i))
		lines.Write(append(e.AppendJSON(nil), '\n'))
	}
	dir = t.TempDir()
	if code, out, errs := call(t, lines.String(), nil, "import", "--data", dir, "--domain", "relay.example.org", "--disk-floor", "0", "-"); code != exitOK {
		t.Fatal(code, out, errs)
	}
	return dir, exported(t, dir)
}

func exported(t *testing.T, dir string) string {
	t.Helper()
	code, out, errs := call(t, "", nil, "export", "--data", dir)
	if code != exitOK {
		t.Fatal(code, errs)
	}
	return out
}

func checked(t *testing.T, dir string, args ...string) (code int, out, errs string) {
	t.Helper()
	return call(t, "", nil, append([]string{"check", "--data", dir, "--disk-floor", "0"}, args...)...)
}

// inOneLine requires an error of one line that names what it has to.
func inOneLine(t *testing.T, errs string, names ...string) {
	t.Helper()
	if strings.Count(errs, "\n") != 1 {
		t.Errorf("not one line:\n%s", errs)
	}
	for _, name := range names {
		if !strings.Contains(errs, name) {
			t.Errorf("no %q in %s", name, errs)
		}
	}
}

func TestCheckOfASoundStore(t *testing.T) {
	dir, before := filled(t, 20)
	if code, out, errs := checked(t, dir); code != exitOK || !strings.Contains(out, "21 events") || !strings.HasSuffix(out, "sound\n") || errs != "" {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if exported(t, dir) != before {
		t.Error("a check changed something")
	}
}

// TestCheckFindsAndRepairMends takes an index row away, and puts an event in with a signature by someone else.
func TestCheckFindsAndRepairMends(t *testing.T) {
	dir, before := filled(t, 20)
	withEngine(t, dir, func(db *pebble.DB) {
		it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte("k"), UpperBound: []byte("l")})
		if err != nil {
			t.Fatal(err)
		}
		it.First()
		key := bytes.Clone(it.Key())
		if err := it.Close(); err != nil {
			t.Fatal(err)
		}
		if err := db.Delete(key, pebble.Sync); err != nil {
			t.Fatal(err)
		}
	})
	code, _, errs := checked(t, dir)
	if code != exitFail || !strings.Contains(errs, `row 'k' of`) || !strings.Contains(errs, "graspd check --repair --data "+dir) {
		t.Errorf("%d %s", code, errs)
	}
	code, out, errs := checked(t, dir, "--repair")
	if code != exitOK || !strings.Contains(out, "built anew from 21 events") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "store.broken-*"))
	if err != nil || len(kept) != 1 || !strings.Contains(out, "the old one is kept in "+kept[0]) {
		t.Errorf("%q %v in\n%s", kept, err, out)
	}
	if code, _, errs := checked(t, dir); code != exitOK || exported(t, dir) != before {
		t.Errorf("after the repair: %d %s", code, errs)
	}
}

// TestCheckProvesEveryEvent puts an event in with a signature that is not its author's.
func TestCheckProvesEveryEvent(t *testing.T) {
	dir, before := filled(t, 20)
	forged := testkit.Issue(testkit.Key(3), 1, "30617:x:y", "not by its author")
	forged.Sig[5] ^= 1
	withEngine(t, dir, func(db *pebble.DB) {
		if err := db.Set([]byte{'l', 0, 0, 0, 0, 0, 0, 0, 9}, forged.AppendJSON([]byte{0, 0}), pebble.Sync); err != nil {
			t.Fatal(err)
		}
	})
	if code, _, errs := checked(t, dir); code != exitFail || !strings.Contains(errs, "entry 9: "+nostr.ErrSig.Error()) {
		t.Errorf("%d %s", code, errs)
	}
	code, out, errs := checked(t, dir, "--repair")
	if code != exitFail || !strings.Contains(errs, "entry 9: "+nostr.ErrSig.Error()) || !strings.Contains(out, "20 events") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if lines := strings.SplitAfter(before, "\n"); exported(t, dir) != strings.Join(append(lines[:8:8], lines[9:]...), "") {
		t.Error("the others are not what they were")
	}
}

func withEngine(t *testing.T, dir string, do func(*pebble.DB)) {
	t.Helper()
	db, err := pebble.Open(filepath.Join(dir, "store"), &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	do(db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}

func TestCheckOfWhatCannotBeRead(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	code, _, errs := checked(t, none)
	if code != exitUsage {
		t.Errorf("%d %s", code, errs)
	}
	inOneLine(t, errs, none)
	if _, err := os.Stat(none); err == nil {
		t.Error("check made a store")
	}
	dir, _ := filled(t, 20)
	manifests, err := filepath.Glob(filepath.Join(dir, "store", "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	for _, m := range manifests {
		if err := os.Truncate(m, 10); err != nil {
			t.Fatal(err)
		}
	}
	code, _, errs = checked(t, dir)
	if code != exitUsage {
		t.Errorf("%d %s", code, errs)
	}
	inOneLine(t, errs, "MANIFEST-", "graspd check --repair")
	code, _, errs = call(t, "", nil, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "", "--data", dir)
	if code != exitFail {
		t.Errorf("serve: %d %s", code, errs)
	}
	inOneLine(t, errs, "MANIFEST-", "graspd check --repair")
	if code, out, errs := checked(t, dir, "--repair"); code != exitOK || !strings.Contains(out, "built anew from 21 events") ||
		!strings.Contains(out, "read file by file: ") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

func TestCheckOfAStoreInUse(t *testing.T) {
	dir := t.TempDir()
	serve(t, "--data", dir)
	for _, args := range [][]string{nil, {"--repair"}} {
		code, _, errs := checked(t, dir, args...)
		if code != exitUsage {
			t.Errorf("%d %s", code, errs)
		}
		inOneLine(t, errs, dir, "in use", "stop")
	}
}

// Where there is no store the commands that read it say what names it.
func TestNoStoreToRead(t *testing.T) {
	for _, command := range []string{"export", "check"} {
		if code, _, errs := call(t, "", nil, command, "--data", t.TempDir()); code == exitOK || !strings.Contains(errs, "(--data says where the data is)") {
			t.Errorf("%s: %d %s", command, code, errs)
		}
	}
}
