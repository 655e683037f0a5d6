package hosting_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Where archives are closed nobody pushes to what lists another service alone, and they are told where to push instead. What lists this one
// is pushed to, and without that word both are.
func TestPushesToWhatIsArchived(t *testing.T) {
	for _, closed := range []bool{true, false} {
		w := archiving(t, hosting.Limits{}, closed, policy.Archive{All: true})
		archived := w.event(2, now, nip34.KindRepository, nostr.Tag{"d", "tool"},
			nostr.Tag{"clone", "https://a.example.org/tool.git", "https://b.example.org/tool.git", "https://c.example.org/1.git", "https://d.example.org/2.git"},
			nostr.Tag{"relays", "wss://a.example.org"})
		if v := w.publish(archived); !v.OK() {
			t.Fatalf("%+v", v)
		}
		own, r := w.announce(1, "tool", now), w.newRepo()
		tip := r.commit("one")
		w.state(1, "tool", now, "refs/heads/main", tip)
		w.state(2, "tool", now, "refs/heads/main", tip)
		r.must("push", w.cloneURL(own), "main")
		out, err := r.git(r.dir, "push", w.cloneURL(archived), "main")
		if !closed {
			if err != nil {
				t.Errorf("a push to what is archived: %s", out)
			}
			w.served(archived)
			continue
		}
		says := "archives the repository and takes no pushes to it: push to https://a.example.org/tool.git or https://b.example.org/tool.git or https://c.example.org/1.git"
		if err == nil || !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(out, "remote:", "")), " "), says) || strings.Contains(out, "d.example.org") {
			t.Errorf("%v: %s", err, out)
		}
		if out, err := r.git(r.dir, "push", w.cloneURL(archived), tip+":refs/nostr/"+strings.Repeat("a", 64)); err == nil {
			t.Errorf("a pull request's tip: %s", out)
		}
		w.waits(archived)
	}
}
