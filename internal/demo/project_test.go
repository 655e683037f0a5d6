package demo

import (
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// What a maintainer signs names the relays that are to have it, and the commits that are pushed.
func TestAProjectIsWellFormed(t *testing.T) {
	service, err := grasp.ParseService("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	at := []grasp.Service{service, service, service}
	p := newProject(0, at, []string{strings.Repeat("a", 40), strings.Repeat("b", 40)}, 1_700_000_000)
	a, err := nip34.ParseAnnouncement(p.signed[0])
	if err != nil || len(a.Relays) != 3 || !service.Lists(a) {
		t.Errorf("%+v: %v", a, err)
	}
	if tip, _ := p.signed[1].Tags.First(branch); tip != p.tip() || tip != p.commits[1] {
		t.Errorf("the state is at %q", tip)
	}
	for _, thread := range p.threads {
		for i, e := range thread {
			root, _ := e.Tags.First("E")
			about, _ := e.Tags.First("a")
			if e.CheckID() != nil || i == 0 && about != p.address.String() || i > 0 && root != thread[0].ID.String() {
				t.Errorf("%s", e.AppendJSON(nil))
			}
		}
	}
	if a, b := len(p.heard(0)), len(p.heard(1)); a == 0 || b == 0 || a == len(slices.Concat(p.threads...)) || b == len(slices.Concat(p.threads...)) {
		t.Errorf("one has %d and the other %d of the events", a, b)
	}
	both := append(slices.Clone(p.heard(0)), p.heard(1)...)
	for _, thread := range p.threads {
		if !slices.Contains(both, thread[0]) {
			t.Errorf("neither relay has heard of %s", thread[0].ID)
		}
	}
}
