package status_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/status"
)

func seconds(n int) status.Seconds { return status.Seconds{Duration: time.Duration(n) * time.Second} }

// TestWhatNodesTold: of each node the latest counts, whoever brings it; who is silent is forgotten after a while, and who has left at once.
func TestWhatNodesTold(t *testing.T) {
	var r status.Roster
	start := time.Unix(1_700_000_000, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	says := func(now int, want ...string) {
		t.Helper()
		var got []string
		for _, n := range r.Nodes(at(now)) {
			got = append(got, fmt.Sprint(n.Node, " ", n.Position, " ", int(n.Told.Seconds())))
		}
		if !slices.Equal(got, want) {
			t.Errorf("at %d: %q, want %q", now, got, want)
		}
	}
	says(0)
	r.Tell(at(0), status.ClusterNode{Node: "b", Position: 1})
	r.Tell(at(1), status.ClusterNode{Node: "a", Position: 2})
	says(2, "a 2 1", "b 1 2")
	r.Tell(at(9), status.ClusterNode{Node: "b", Position: 7, Told: seconds(2)}) // of second 7
	r.Tell(at(9), status.ClusterNode{Node: "b", Position: 5, Told: seconds(4)})
	r.Tell(at(9), status.ClusterNode{Node: "a", Position: 3, Told: seconds(-50)}) // another clock tells nothing
	says(10, "a 3 1", "b 7 3")
	says(607, "a 3 598", "b 7 600")
	says(608, "a 3 599")
	r.Leave("a")
	r.Leave("a")
	says(608)
	for i := range status.MaxNodes + 5 {
		r.Tell(at(700+i), status.ClusterNode{Node: fmt.Sprintf("node %03d", i)})
	}
	if all := r.Nodes(at(800)); len(all) != status.MaxNodes || all[0].Node != "node 005" {
		t.Errorf("%d nodes from %s on are remembered", len(all), all[0].Node)
	}
}

// TestWhatIsWrongWithNodes is told at each node, in words, of each once.
func TestWhatIsWrongWithNodes(t *testing.T) {
	started := status.Unix(1_700_000_000)
	own := status.ClusterNode{Node: "me", Version: "1", Since: started, Position: 9}
	node := func(change func(*status.ClusterNode)) status.ClusterNode {
		n := status.ClusterNode{Node: "http://b", Version: "v2", Since: started, Position: 7}
		change(&n)
		return n
	}
	for name, c := range map[string]struct {
		other    status.ClusterNode
		leads    bool
		unled    int
		line     string
		problems []string
	}{
		"well":               {node(func(*status.ClusterNode) {}), true, 0, "http://b follows (graspd v2, since 2023-11-14 22:13:20 UTC) at position 7", nil},
		"leads":              {node(func(n *status.ClusterNode) { n.Leads = true }), false, 1, "http://b leads (graspd v2, since 2023-11-14 22:13:20 UTC) at position 7", nil},
		"lags":               {node(func(n *status.ClusterNode) { n.Behind, n.Lag = 2, seconds(6) }), true, 0, "at position 7, 2 commits behind for 6 s", []string{"the node http://b is 6 s behind, and lacks 2 commits"}},
		"lags a little":      {node(func(n *status.ClusterNode) { n.Behind, n.Lag = 2, seconds(5) }), true, 0, "2 commits behind for 5 s", nil},
		"silent":             {node(func(n *status.ClusterNode) { n.Told, n.Error = seconds(6), "x" }), true, 0, "at position 7; silent for 6 s", []string{"the node http://b has not been heard of for 6 s"}},
		"silent for a while": {node(func(n *status.ClusterNode) { n.Told = seconds(5) }), true, 0, "at position 7", nil},
		"wrong":              {node(func(n *status.ClusterNode) { n.Error = "no\nroom" }), true, 0, "at position 7", []string{"the node http://b: no\\nroom"}},
		"the leader is gone": {node(func(n *status.ClusterNode) { n.Leads, n.Told = true, seconds(9) }), false, 9, "silent for 9 s", []string{"no node that leads has been heard of for 9 s: nobody takes what people publish, unless the network between the nodes is at fault"}},
	} {
		s := status.Cluster{Node: "me", Leads: c.leads, Fresh: true, Unled: seconds(c.unled), Nodes: []status.ClusterNode{c.other, own}}
		if lines := s.Lines(); len(lines) != 2 || !strings.HasSuffix(lines[0], c.line) || !slices.Equal(s.Problems(), c.problems) {
			t.Errorf("%s: %q; %q", name, lines, s.Problems())
		}
		if want := map[bool]int{true: 1, false: 2}[c.other.Silent()]; s.Heard() != want {
			t.Errorf("%s: %d are heard", name, s.Heard())
		}
	}
	alone := status.Cluster{Node: "me", Leads: true, Nodes: []status.ClusterNode{own}}
	if alone.Lines() != nil || alone.Problems() != nil {
		t.Errorf("%q, %q", alone.Lines(), alone.Problems())
	}
	late := status.Cluster{Node: "me", Unled: seconds(2), Silence: seconds(3)}
	if got := late.Problems(); len(got) != 1 || got[0] != late.Problem() {
		t.Errorf("%q", got)
	}
}
