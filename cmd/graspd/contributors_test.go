package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestContributorsWithGitAlone: pull requests for a repository that is elsewhere and for one that is here, both ways round.
func TestContributorsWithGitAlone(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	us := serve(t, "--data", data, "--sync=false", "--git", "--contributors")
	host := strings.TrimPrefix(string(us.url), "ws://")
	service, err := grasp.ParseService(host)
	if err != nil {
		t.Fatal(err)
	}
	if doc := information(t, us.url); !slices.Contains(doc.SupportedGRASPs, "GRASP-06") {
		t.Errorf("%v", doc.SupportedGRASPs)
	}
	now, owner, contributor := time.Now().Unix(), testkit.Key(1), testkit.Key(2)
	prs := strings.Replace(service.CloneURL(contributor.PubKey(), "tool"), "/npub1", "/prs/npub1", 1)
	pullRequest := func(at int64, commit string) *nostr.Event {
		return testkit.Sign(contributor, at, nip34.KindPullRequest, "", nostr.Tag{"a", nip34.Address{Kind: nip34.KindRepository, PubKey: owner.PubKey(), D: "tool"}.String()},
			nostr.Tag{"c", commit}, nostr.Tag{"clone", prs})
	}
	ref := func(e *nostr.Event) string { return "refs/nostr/" + e.ID.String() }
	c := dial(t, us.url)
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	base := commitIn(t, dir, "base")
	if got := git(t, dir, "ls-remote", prs); got != "" {
		t.Errorf("an empty place shows %q", got)
	}
	// The event, then the push.
	tip := commitIn(t, dir, "one")
	first := pullRequest(now, tip)
	c.publish(first)
	git(t, dir, "push", "-q", prs, tip+":"+ref(first))
	if !c.stored(first) {
		t.Error("it is not served when git push returns")
	}
	// The push, then the event.
	tip = commitIn(t, dir, "two")
	second := pullRequest(now+1, tip)
	git(t, dir, "push", "-q", prs, tip+":"+ref(second))
	c.publish(second)
	eventually(t, "the tip", func() bool { return strings.Contains(git(t, dir, "ls-remote", prs), tip+"\t"+ref(second)) })
	other := t.TempDir()
	git(t, other, "init", "-q")
	git(t, other, "fetch", "-q", prs, ref(second))
	if got := git(t, other, "rev-parse", "FETCH_HEAD"); got != tip {
		t.Errorf("fetched %s", got)
	}
	if code, empty := statusOf(t, http.MethodGet, prs), statusOf(t, http.MethodGet, strings.Replace(prs, "tool", "empty", 1)); code != http.StatusOK || empty != http.StatusNotFound {
		t.Errorf("its page: %d, that of an empty one: %d", code, empty)
	}
	if out, err := gitIn(t, dir, "push", prs, "main"); err == nil || !strings.Contains(out, "is taken here") {
		t.Errorf("a branch: %v\n%s", err, out)
	}
	// The repository comes here, and has what is pushed to the contributor's place from then on.
	url := service.CloneURL(owner.PubKey(), "tool")
	c.publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"clone", url}, nostr.Tag{"relays", string(us.url)}))
	c.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", base}))
	git(t, dir, "push", "-q", url, base+":refs/heads/main")
	tip = commitIn(t, dir, "three")
	third := pullRequest(now+2, tip)
	c.publish(third)
	git(t, dir, "push", "-q", prs, tip+":"+ref(third))
	// What was pushed before the repository came is lacking there, so a pack is made of both, after the push.
	eventually(t, "the tip where it was announced", func() bool { return strings.Contains(git(t, dir, "ls-remote", url), tip+"\t"+ref(third)) })
	if code := us.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	if code, out, errs := call(t, "", nil, "check", "--git", "--data", data, "--disk-floor", "0"); code != exitOK || !strings.Contains(out, "2 repositories with ") {
		t.Errorf("check: %d\n%s\n%s", code, out, errs)
	}
	us = serve(t, "--data", data, "--sync=false", "--git", "--listen", host)
	if code := statusOf(t, http.MethodGet, prs+"/info/refs?service=git-upload-pack"); code != http.StatusNotFound {
		t.Errorf("without the flag: %d", code)
	}
	if code := statusOf(t, http.MethodGet, prs); code != http.StatusNotFound {
		t.Errorf("its page without the flag: %d", code)
	}
	if doc := information(t, us.url); slices.Contains(doc.SupportedGRASPs, "GRASP-06") {
		t.Errorf("%v", doc.SupportedGRASPs)
	}
}

// information is the relay's information document.
func information(t *testing.T, relay grasp.RelayURL) (d nip11.Document) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http"+strings.TrimPrefix(string(relay), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", nip11.ContentType)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d
}
