package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
)

// ClusterNode is one of the nodes that share a bucket, by what it last told of itself.
type ClusterNode struct {
	Node     string  `json:"node"` // by which the others reach it
	Version  string  `json:"version"`
	Leads    bool    `json:"leads"`
	Since    Moment  `json:"since"`    // when it was started
	Position uint64  `json:"position"` // up to where it has the log
	Behind   uint64  `json:"behind"`   // how many commits it knows to lack
	Lag      Seconds `json:"lag_seconds"`
	Error    string  `json:"error"`            // what is wrong with it, in its words; "" is nothing
	Told     Seconds `json:"told_ago_seconds"` // how long ago it told that
}

// Bounds of what is said of a node.
const (
	nodeSilent = 5 * time.Second  // a node that has told nothing for longer is missing
	nodeLags   = 5 * time.Second  // a node that lacks commits for longer is behind
	NodeForgot = 10 * time.Minute // a node that has told nothing for longer was taken away
	MaxNodes   = 64               // nodes that are remembered; the one that was silent for longest goes
)

// Silent reports whether the node has told nothing for so long that it may be gone.
func (n ClusterNode) Silent() bool { return n.Told.Duration > nodeSilent }

// String says for people how the node stands.
func (n ClusterNode) String() string {
	does := "follows"
	if n.Leads {
		does = "leads"
	}
	text := fmt.Sprintf("%s %s (graspd %s, since %s) at position %d", safetext.Printable(n.Node), does, safetext.Printable(n.Version), n.Since.text(), n.Position)
	if n.Behind > 0 {
		text += fmt.Sprintf(", %s behind for %d s", safetext.Number(n.Behind, "commit", "commits"), int(n.Lag.Seconds()))
	}
	if n.Silent() {
		text += fmt.Sprintf("; silent for %d s", int(n.Told.Seconds()))
	}
	return text
}

// problem says what is wrong with the node; "" is nothing.
func (n ClusterNode) problem() string {
	name := "the node " + safetext.Printable(n.Node)
	switch {
	case n.Silent():
		return fmt.Sprintf("%s has not been heard of for %d s", name, int(n.Told.Seconds()))
	case n.Error != "":
		return name + ": " + safetext.Printable(n.Error)
	case n.Lag.Duration > nodeLags:
		return fmt.Sprintf("%s is %d s behind, and lacks %s", name, int(n.Lag.Seconds()), safetext.Number(n.Behind, "commit", "commits"))
	}
	return ""
}

// Roster is what the nodes that share a bucket have told of themselves. The zero Roster has none. One goroutine at a time uses it.
type Roster struct{ nodes map[string]rosterNode }

type rosterNode struct {
	ClusterNode
	at time.Time
}

// Tell notes what a node has told, Told before now, unless it has told something later.
func (r *Roster) Tell(now time.Time, n ClusterNode) {
	at := now.Add(-max(0, n.Told.Duration))
	if has, ok := r.nodes[n.Node]; ok && has.at.After(at) {
		return
	}
	if r.nodes == nil {
		r.nodes = map[string]rosterNode{}
	}
	r.nodes[n.Node] = rosterNode{n, at}
	if len(r.nodes) > MaxNodes {
		oldest := n.Node
		for name, x := range r.nodes {
			if x.at.Before(r.nodes[oldest].at) {
				oldest = name
			}
		}
		delete(r.nodes, oldest)
	}
}

// Leave forgets a node.
func (r *Roster) Leave(node string) { delete(r.nodes, node) }

// Nodes returns those that have told something lately, by name.
func (r *Roster) Nodes(now time.Time) []ClusterNode {
	list := []ClusterNode{}
	for name, x := range r.nodes {
		x.Told = Seconds{now.Sub(x.at)}
		if x.Told.Duration > NodeForgot {
			delete(r.nodes, name)
			continue
		}
		list = append(list, x.ClusterNode)
	}
	slices.SortFunc(list, func(a, b ClusterNode) int { return cmp.Compare(a.Node, b.Node) })
	return list
}

// Heard is how many nodes have told something lately.
func (c Cluster) Heard() (count int) {
	for _, n := range c.Nodes {
		if !n.Silent() {
			count++
		}
	}
	return count
}

// Lines says for people how all nodes stand, a line each; of a node that is alone nothing.
func (c Cluster) Lines() (lines []string) {
	if len(c.Nodes) < 2 {
		return nil
	}
	for _, n := range c.Nodes {
		lines = append(lines, n.String())
	}
	return lines
}

// Problems says what is wrong with this node, with the one that leads and with others.
func (c Cluster) Problems() (list []string) {
	if own := c.Problem(); own != "" {
		list = append(list, own)
	}
	if text := c.Different(); text != "" {
		list = append(list, "this node: "+text)
	}
	if c.Unled.Duration > nodeSilent && !c.Leads {
		list = append(list, fmt.Sprintf("no node that leads has been heard of for %d s: nobody takes what people publish, unless the network between the nodes is at fault", int(c.Unled.Seconds())))
	}
	for _, n := range c.Nodes {
		if n.Node == c.Node {
			continue
		}
		if text := n.problem(); text != "" && !(n.Leads && n.Silent() && !c.Leads) { // that is said
			list = append(list, text)
		}
	}
	return list
}
