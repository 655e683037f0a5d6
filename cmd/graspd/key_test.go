package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/nip19"
)

// TestTheKeyIsCarried from one data directory to another, by a file or through a pipe, for its owner alone; nothing else prints it.
func TestTheKeyIsCarried(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "new")
	key, err := node.LoadKey(from)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(from, "relay.key"))
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.TrimSpace(string(raw))
	file := filepath.Join(t.TempDir(), "carried")
	said := ""
	graspd := func(in string, code int, args ...string) (out, errs string) {
		t.Helper()
		got, out, errs := call(t, in, nil, append([]string{"key"}, args...)...)
		if got != code {
			t.Fatalf("%q: %d %s%s", args, got, out, errs)
		}
		said += out + errs
		return out, errs
	}
	if out, _ := graspd("", exitOK, "--data", from); out != nip19.Npub(key.PubKey())+"\n"+key.PubKey().String()+"\n" {
		t.Errorf("shown: %s", out)
	}
	graspd("", exitOK, "export", "--data", from, file)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("exported: %v, %v", info.Mode(), err)
	}
	_, errs := graspd("", exitFail, "export", "--data", from, file)
	inOneLine(t, errs, file, "exists")
	if out, _ := graspd("", exitOK, "import", file, "--data", to); !strings.Contains(out, nip19.Npub(key.PubKey())) {
		t.Errorf("imported: %s", out)
	}
	sameKeyFile := filepath.Join(to, "relay.key")
	if info, err := os.Stat(sameKeyFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("imported: %v, %v", info.Mode(), err)
	}
	if got, err := node.ReadKey(to); err != nil || got != key {
		t.Errorf("another key, %v", err)
	}
	graspd(string(raw), exitOK, "import", "-", "--data", to) // the same again
	if strings.Contains(said, secret) {
		t.Errorf("the secret key was printed: %s", said)
	}
	if code, out, _ := call(t, "", nil, "key", "export", "--data", from, "-"); code != exitOK || out != string(raw) {
		t.Errorf("to the standard output: %d", code)
	}
}

// TestKeysThatAreNotTaken: what is no key, a key beside another one, and any key while the relay runs.
func TestKeysThatAreNotTaken(t *testing.T) {
	data := t.TempDir()
	before, err := node.LoadKey(data)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Repeat("ab", 32) + "\n"
	refused := func(in string, names ...string) {
		t.Helper()
		code, _, errs := call(t, in, nil, "key", "import", "-", "--data", data, "--replace")
		if code != exitFail {
			t.Errorf("%d", code)
		}
		inOneLine(t, errs, names...)
		if strings.Contains(errs, strings.TrimSpace(other)) {
			t.Errorf("the secret key is printed: %s", errs)
		}
	}
	for _, bad := range []string{"", "abc", strings.Repeat("00", 32), strings.Repeat("ff", 32), other + other, strings.Repeat("a", 5000)} {
		refused(bad, "key")
	}
	code, _, errs := call(t, other, nil, "key", "import", "-", "--data", data)
	if code != exitFail {
		t.Errorf("over another key: %d", code)
	}
	inOneLine(t, errs, "another key", "--replace")
	us := serve(t, "--data", data, "--sync=false")
	refused(other, "in use", "running relay")
	us.stop()
	if now, err := node.ReadKey(data); err != nil || now != before {
		t.Errorf("the key has changed: %v", err)
	}
	if code, _, errs := call(t, other, nil, "key", "import", "-", "--data", data, "--replace"); code != exitOK {
		t.Errorf("replaced: %d %s", code, errs)
	}
	if now, err := node.ReadKey(data); err != nil || now == before {
		t.Errorf("it is not replaced: %v", err)
	}
	for _, args := range [][]string{{"export"}, {"import"}, {"steal", "x"}, {"export", "a", "b"}} {
		if code, _, errs := call(t, "", nil, append([]string{"key"}, args...)...); code != exitUsage || !strings.Contains(errs, "export FILE") {
			t.Errorf("%q: %d %s", args, code, errs)
		}
	}
}
