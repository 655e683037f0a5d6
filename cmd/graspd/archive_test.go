package main

import (
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// document is the information document of a relay.
func document(t *testing.T, r *running) nip11.Document {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http"+strings.TrimPrefix(string(r.url), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/nostr+json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	d, err := nip11.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What lists another relay alone is mirrored, events and git data, once its URL is in the file of --archive, and nobody pushes to the mirror.
func TestAnArchive(t *testing.T) {
	source := serve(t, "--git", "--listen", freeAddress(t), "--data", t.TempDir(), "--admin-listen=", "--sync=false")
	list := file(t, "# nothing yet\n")
	mirror := serve(t, "--git", "--listen", freeAddress(t), "--data", t.TempDir(), "--admin-listen=", "--sync-batch-window", "50ms", "--sync-allow-private",
		"--archive", "@"+list, "--archive-read-only")
	if d := document(t, mirror); !slices.Equal(d.SupportedGRASPs, []string{"GRASP-01", "GRASP-02", "GRASP-05"}) || !strings.Contains(d.Curation, "takes no pushes") {
		t.Errorf("%+v, %q", d.SupportedGRASPs, d.Curation)
	}
	if d := document(t, source); slices.Contains(d.SupportedGRASPs, "GRASP-05") || d.Curation != "" {
		t.Errorf("%+v, %q", d.SupportedGRASPs, d.Curation)
	}
	owner, now, dir := testkit.Key(1), time.Now().Unix(), t.TempDir()
	from, to := cloneURL(t, source.url, owner.PubKey(), "tool"), cloneURL(t, mirror.url, owner.PubKey(), "tool")
	git(t, dir, "init", "-q", "-b", "main")
	tip := commitIn(t, dir, "one")
	c := dial(t, source.url)
	c.publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"clone", from}, nostr.Tag{"relays", string(source.url)}))
	c.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))
	git(t, dir, "push", "-q", from, "main")
	overwrite(t, list, string(source.url)+"\n")
	hangUp(t)
	eventually(t, "the mirror can be cloned", func() bool {
		out, err := exec.CommandContext(t.Context(), "git", "ls-remote", to).Output()
		return err == nil && strings.Contains(string(out), tip+"\trefs/heads/main")
	})
	next := commitIn(t, dir, "two")
	c.publish(testkit.Sign(owner, now+1, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", next}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))
	push := exec.CommandContext(t.Context(), "git", "push", to, "main")
	push.Dir = dir
	if out, err := push.CombinedOutput(); err == nil || !strings.Contains(string(out), "takes no pushes to it: push to "+from) {
		t.Errorf("%v: %s", err, out)
	}
	git(t, dir, "push", "-q", from, "main")
	eventually(t, "the mirror has the next push", func() bool {
		out, err := exec.CommandContext(t.Context(), "git", "ls-remote", to).Output()
		return err == nil && strings.Contains(string(out), next+"\trefs/heads/main")
	})
}

func TestArchivesThatCannotBe(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--archive-read-only"}, "--archive-read-only: nothing is archived"},
		{[]string{"--archive", "all", "--sync=false"}, "--archive: what is archived comes from other relays"},
		{[]string{"--git", "--archive", "all", "--git-sync=false"}, "--archive: what is archived comes from other git servers"},
		{[]string{"--archive", "https://a.example.org"}, `--archive: "https://a.example.org" is not allowed: want all, an npub`},
		{[]string{"--archive", "@/nonexistent/list"}, "--archive: open /nonexistent/list: no such file"},
		{[]string{"--archive", someNsec}, "--archive: an entry is not allowed"},
	} {
		code, _, errs := call(t, "", nil, append([]string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0"}, tc.args...)...)
		if code != exitUsage || !strings.Contains(errs, tc.want) || strings.Contains(errs, someNsec) {
			t.Errorf("%v: code %d, %s", tc.args, code, errs)
		}
	}
}
