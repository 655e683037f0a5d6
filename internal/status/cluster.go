package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
)

// Cluster says how a node stands among those that share its bucket.
type Cluster struct {
	Node      string   `json:"node"`       // by which the others reach it
	Leads     bool     `json:"leads"`      // it writes, and the others follow
	Leader    string   `json:"leader"`     // the machine that writes; "" is not known
	LeaderURL string   `json:"leader_url"` // by which others reach that
	Since     Moment   `json:"since"`      // when it began to write
	Term      uint64   `json:"term"`
	Position  uint64   `json:"position"`          // up to where this node has the log
	Behind    uint64   `json:"behind"`            // how many commits it is known to lack
	Lag       Seconds  `json:"lag_seconds"`       // how long ago it last had all of which it knew
	Silence   Seconds  `json:"heard_ago_seconds"` // how long ago it heard of the log
	Fresh     bool     `json:"fresh"`             // it leads, or heard of the log within StaleAfter
	Unled     Seconds  `json:"unled_seconds"`     // how long ago it heard of a node that leads; 0 where it leads
	Carried   Carried  `json:"carried"`
	Differs   []string `json:"differs"` // the settings of this node, by their flags, that are not those in force

	Nodes []ClusterNode `json:"nodes"` // all that are known, this one among them
}

// Carried is what clients of a node that follows asked of the one that leads, by way of it.
type Carried struct {
	Requests   uint64 `json:"requests"`
	Events     uint64 `json:"events"`     // that were decided
	Unanswered uint64 `json:"unanswered"` // requests and events that no node took
	Waiting    int64  `json:"waiting"`    // requests for which no node leads yet
}

// StaleAfter is how long a follower may hear neither of the node that leads nor of the bucket, and still be ready for clients.
const StaleAfter = 2 * time.Second

// Follow fills in how far a follower is behind a log that goes up to head: when it has heard of that, and when it last had all of it; zero is never.
func (c *Cluster) Follow(now, heard, level time.Time, head uint64) {
	if head > c.Position {
		c.Behind = head - c.Position
	}
	if !heard.IsZero() {
		c.Silence = Seconds{now.Sub(heard)}
		c.Fresh = c.Silence.Duration <= StaleAfter
	}
	if !level.IsZero() && c.Behind > 0 {
		c.Lag = Seconds{now.Sub(level)}
	}
}

// String says for people how the node stands.
func (c Cluster) String() string {
	if c.Leads {
		return fmt.Sprintf("this node leads since %s (term %d, position %d)", c.Since.UTC().Format(time.RFC3339), c.Term, c.Position)
	}
	text := "this node follows"
	if c.Leader != "" {
		text += fmt.Sprintf(" %s, which leads since %s", safetext.Printable(c.Leader), c.Since.UTC().Format(time.RFC3339))
	}
	text += fmt.Sprintf(" (term %d, position %d)", c.Term, c.Position)
	if c.Behind > 0 {
		text += fmt.Sprintf(", %s behind for %d s", safetext.Number(c.Behind, "commit", "commits"), int(c.Lag.Seconds()))
	}
	return text
}

// Different says in what the settings of the node differ from those in force; "" where they do not.
func (c Cluster) Different() string {
	if len(c.Differs) == 0 {
		return ""
	}
	return "its settings differ from those in force at all nodes (" + strings.Join(c.Differs, ", ") + "): it serves by those, and does not lead until it has the same, or no other one leads"
}

// Problem says why the node should get no clients; "" where it may.
func (c Cluster) Problem() string {
	switch {
	case c.Fresh || c.Leads:
		return ""
	case c.Silence.Duration == 0:
		return "this node follows, and has not heard yet how far the log goes"
	}
	return fmt.Sprintf("this node follows, and has heard neither of the node that leads nor of the bucket for %d s: what it shows is old", int(c.Silence.Seconds()))
}
