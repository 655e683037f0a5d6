package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestBackupWhileEventsArrive: the copy of a relay that runs is sound, has what was acknowledged before, and can be
// served.
func TestBackupWhileEventsArrive(t *testing.T) {
	data := t.TempDir()
	us := serve(t, "--data", data, "--domain", "relay.example.org", "--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	now := time.Now().Unix()
	owner := testkit.Key(1)
	c := dial(t, us.url)
	c.publish(testkit.Announcement(owner, now, "proj", "wss://relay.example.org"))
	at := testkit.RepositoryAddress(owner, "proj")
	for i := range 20 {
		c.publish(testkit.Issue(testkit.Key(2), now, at, fmt.Sprint("before ", i)))
	}
	more := make(chan int)
	done := make(chan struct{})
	other := dial(t, us.url)
	go func() {
		n := 0
		for {
			select {
			case <-done:
				more <- n
				return
			default:
			}
			other.publish(testkit.Issue(testkit.Key(3), now, at, fmt.Sprint("meanwhile ", n)))
			n++
		}
	}()
	dir := filepath.Join(t.TempDir(), "copy")
	code, out, errs := call(t, "", nil, "backup", "--data", data, "--admin", base, dir)
	close(done)
	<-more
	if code != exitOK || !strings.Contains(out, "--data "+dir) {
		t.Fatalf("%d %s%s", code, out, errs)
	}
	if code, out, errs := checked(t, dir); code != exitOK {
		t.Errorf("the copy: %d %s%s", code, out, errs)
	}
	text := exported(t, dir)
	for i := range 20 {
		if !strings.Contains(text, fmt.Sprintf(`"before %d"`, i)) {
			t.Errorf("event %d is not in the copy", i)
		}
	}
	sameKey(t, data, dir)
	code, _, errs = call(t, "", nil, "backup", "--data", data, "--admin", base, dir)
	if code != exitFail {
		t.Errorf("over a copy: %d", code)
	}
	inOneLine(t, errs, dir, "exist")
	them := serve(t, "--data", dir, "--domain", "relay.example.org")
	dial(t, them.url).publish(testkit.Issue(testkit.Key(2), now, at, "after"))
}

func sameKey(t *testing.T, data, dir string) {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, "relay.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the key: %v %v", info, err)
	}
	a, err := node.LoadKey(data)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := node.LoadKey(dir); err != nil || a != b {
		t.Errorf("another key, %v", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others may look into the copy: %v %v", info.Mode(), err)
	}
}

func TestBackupOfARelayThatDoesNotRun(t *testing.T) {
	data, before := filled(t, 20)
	if _, err := node.LoadKey(data); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "copy")
	if code, out, errs := call(t, "", nil, "backup", "--data", data, dir); code != exitOK {
		t.Fatalf("%d %s%s", code, out, errs)
	}
	sameKey(t, data, dir)
	if code, _, errs := checked(t, dir); code != exitOK || exported(t, dir) != before {
		t.Errorf("%d %s", code, errs)
	}
}

func TestBackupsThatCannotBe(t *testing.T) {
	data, _ := filled(t, 1)
	left := filepath.Join(t.TempDir(), "copy")
	if err := os.Mkdir(left+".partial", 0o700); err != nil {
		t.Fatal(err)
	}
	busy := t.TempDir()
	serve(t, "--data", busy)
	silent := "127.0.0.1:1"
	for _, c := range []struct {
		code  int
		args  []string
		names []string
	}{
		{exitUsage, []string{"--data", data}, []string{"DIR"}},
		{exitFail, []string{"--data", data, left}, []string{left + ".partial", "remove it"}},
		{exitFail, []string{"--data", data, filepath.Join(t.TempDir(), "no", "parent")}, []string{"no/parent"}},
		{exitFail, []string{"--data", t.TempDir(), filepath.Join(t.TempDir(), "x")}, []string{"no such file"}},
		{exitFail, []string{"--data", busy, "--admin", silent, filepath.Join(t.TempDir(), "x")}, []string{busy, "--admin"}},
	} {
		code, _, errs := call(t, "", nil, append([]string{"backup"}, c.args...)...)
		if code != c.code {
			t.Errorf("%v: exit code %d", c.args, code)
		}
		inOneLine(t, errs, c.names...)
		dir := c.args[len(c.args)-1]
		if _, err := os.Stat(dir); err == nil && dir != data {
			t.Errorf("%v: something is there", c.args)
		}
		if _, err := os.Stat(dir + ".partial"); err == nil && dir != left {
			t.Errorf("%v: a part is there", c.args)
		}
	}
}

// TestBackupOverWhatIsThere is refused before anything is copied, whatever it is.
func TestBackupOverWhatIsThere(t *testing.T) {
	data, _ := filled(t, 1)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, there := range []string{file, t.TempDir()} {
		code, _, errs := call(t, "", nil, "backup", "--data", data, there)
		if code != exitFail {
			t.Errorf("exit code %d", code)
		}
		inOneLine(t, errs, there, "copy to", "exist")
		if _, err := os.Stat(there); err != nil {
			t.Error(err)
		}
	}
}

// TestStrangersGetNoBackup: whoever reaches the private listener has to sign with the relay's key, and that request.
func TestStrangersGetNoBackup(t *testing.T) {
	data := t.TempDir()
	us := serve(t, "--data", data, "--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	key, err := node.LoadKey(data)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "copy")
	body := fmt.Appendf(nil, `{"dir":%q}`, dir)
	now := time.Now()
	for _, c := range []struct {
		name   string
		change func(r *http.Request) error
		code   int
	}{
		{"unsigned", func(*http.Request) error { return nil }, http.StatusUnauthorized},
		{"by a stranger", func(r *http.Request) error { return admin.Authorize(r, body, now, node.Signer(testkit.Key(9))) }, http.StatusUnauthorized},
		{"another body", func(r *http.Request) error { return admin.Authorize(r, []byte(`{}`), now, node.Signer(key)) }, http.StatusUnauthorized},
		{"old", func(r *http.Request) error { return admin.Authorize(r, body, now.Add(-time.Hour), node.Signer(key)) }, http.StatusUnauthorized},
		{"another place", func(r *http.Request) error {
			o := r.Clone(t.Context())
			o.URL.Path = "/other"
			err := admin.Authorize(o, body, now, node.Signer(key))
			r.Header = o.Header
			return err
		}, http.StatusUnauthorized},
		{"another method", func(r *http.Request) error {
			o := r.Clone(t.Context())
			o.Method = "GET"
			err := admin.Authorize(o, body, now, node.Signer(key))
			r.Header = o.Header
			return err
		}, http.StatusUnauthorized},
		{"no event", func(r *http.Request) error { r.Header.Set("Authorization", "Nostr e30="); return nil }, http.StatusUnauthorized},
		{"the operator", func(r *http.Request) error { return admin.Authorize(r, body, now, node.Signer(key)) }, http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/backup", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.change(r); err != nil {
			t.Fatal(err)
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		_, err = os.Stat(dir)
		if a.StatusCode != c.code || (err == nil) != (c.code == http.StatusOK) {
			t.Errorf("%s: %d, %v", c.name, a.StatusCode, err)
		}
	}
}
