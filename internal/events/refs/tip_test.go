package refs_test

import (
	"fmt"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestTipsOfKnownEvents(t *testing.T) {
	m := members("alice")
	pr := pullRequest("pr", 1, "1", "bob", "alice")
	served := refs.Projection{}.Next(repo("alice", "d"), refs.Change{Members: m, PullRequests: []refs.PullRequest{pr}})
	for _, tc := range []struct {
		name    string
		kind    nostr.Kind
		pr      refs.PullRequest
		now     refs.Projection
		move    string
		want    string
		release bool
	}{
		{"its tip", 1618, pr, refs.Projection{}, ">1", "ok", true},
		{"its tip, of an update", 1619, pr, refs.Projection{}, ">1", "ok", true},
		{"its tip, which is here", 1618, pr, served, "1>1", "ok", false},
		{"its tip, which somebody else was faster to bring", 1618, pr, served, ">1", "ok", false},
		{"another commit", 1618, pr, refs.Projection{}, ">2", "other_tip", false},
		{"another commit in its place", 1618, pr, served, "1>2", "other_tip", false},
		{"deleted", 1618, pr, served, "1>", "tip_deleted", false},
		{"deleted where it is not", 1618, pr, refs.Projection{}, ">", "tip_deleted", false},
		{"from where it is not", 1618, pr, refs.Projection{}, "2>1", "moved", false},
		{"of another repository", 1618, pullRequest("pr", 1, "1", "bob"), refs.Projection{}, ">1", "other_repository", false},
		{"of no repository", 1619, pullRequest("pr", 1, "1"), refs.Projection{}, ">1", "other_repository", false},
		{"without a tip", 1618, pullRequest("pr", 1, "", "alice"), refs.Projection{}, ">1", "other_tip", false},
		{"patch", 1617, pr, refs.Projection{}, ">1", "no_pull_request", false},
		{"state", 30618, pr, refs.Projection{}, ">1", "no_pull_request", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := standing(tc.now, m)
			in.Known = map[nostr.ID]refs.Known{id("pr"): {Kind: tc.kind, PullRequest: tc.pr}}
			v := refs.Judge(in, push(pending("pr")+":"+tc.move))
			wantVerdict(t, v, tc.want, "")
			if released := len(v.PullRequests) == 1 && v.PullRequests[0] == id("pr"); released != tc.release || len(v.Uploads) > 0 {
				t.Errorf("releases %v, uploads %v", v.PullRequests, v.Uploads)
			}
		})
	}
}

// Tips and branches of one push stand for themselves, unless the client wants all or nothing.
func TestTipsBesideBranches(t *testing.T) {
	m := members("alice")
	in := standing(refs.Projection{}, m, state("s", "alice", 1, "main=1"))
	in.Known = map[nostr.ID]refs.Known{id("pr"): {Kind: nip34.KindPullRequest, PullRequest: pullRequest("pr", 1, "1", "alice")}}
	p := push(pending("pr") + ":>1 main:>2 " + pending("later") + ":>3")
	v := refs.Judge(in, p)
	wantVerdict(t, v, "ok other_state ok", "")
	if len(v.PullRequests) != 1 || len(v.Uploads) != 1 || v.Uploads[0] != (refs.Tip{Event: id("later"), ID: oid("3")}) {
		t.Errorf("got %+v", v)
	}
	p.Atomic = true
	if v = refs.Judge(in, p); v.Changes() {
		t.Errorf("atomic: %+v", v)
	}
	wantVerdict(t, v, "with_others other_state with_others", "")
	p = push(pending("pr") + ":>2 main:>1")
	wantVerdict(t, refs.Judge(in, p), "other_tip ok", "s")
}

// The tips alone change no branch: a state that waits stays.
func TestTipsAloneReleaseNoState(t *testing.T) {
	m := members("alice")
	in := standing(refs.Projection{}, m, state("empty", "alice", 1, ""))
	wantVerdict(t, refs.Judge(in, push(pending("pr")+":>1")), "ok", "")
}

func TestTooManyTipsInOnePush(t *testing.T) {
	in := standing(refs.Projection{}, members("alice"))
	var p refs.Push
	for i := range refs.MaxPushTips + 2 {
		p.Commands = append(p.Commands, gitwire.Command{Ref: refs.TipName(id(fmt.Sprint(i))), New: oid("1")})
	}
	in.Known = map[nostr.ID]refs.Known{id("0"): {Kind: nip34.KindPullRequest, PullRequest: pullRequest("0", 1, "1", "alice")}}
	v := refs.Judge(in, p)
	refused := 0
	for _, r := range v.Results {
		if r.Cause == refs.PendingPush {
			refused++
		}
	}
	if refused != 1 || len(v.Uploads) != refs.MaxPushTips || len(v.PullRequests) != 1 {
		t.Errorf("%d refused, %d uploads, %d released", refused, len(v.Uploads), len(v.PullRequests))
	}
}
