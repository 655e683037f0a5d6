package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// Readiness says how much of what the bootstrap relays announce for this relay is served here. /readyz, status.json, the status command, the
// problems, the log and the operator's page tell it from this one value. The zero value has asked nobody yet.
type Readiness struct {
	Ready     bool             `json:"ready"`     // all of it is served, or known not to be had, and relays were asked once more after that
	Announced int              `json:"announced"` // repositories that are served, and those that wait for git data that other servers have to give
	Served    int              `json:"served"`
	Relays    []grasp.RelayURL `json:"relays"`  // bootstrap relays that have not answered everything yet
	Further   bool             `json:"-"`       // they are asked for what belongs to repositories that have become served
	Missing   []Missing        `json:"missing"` // up to MissingTold of the repositories that lack git data
	More      int              `json:"more"`    // how many of these Missing does not name
	For       Seconds          `json:"after"`   // since the start; how long it took, where Ready
	Late      []Missing        `json:"-"`       // up to MissingTold of those of Missing that have lacked git data for longer than the operator is left alone
	LateMore  int              `json:"-"`       // how many of these Late does not name
}

// MissingTold is how many repositories a Readiness names.
const MissingTold = 20

// lateAfter is how long something may be missing before that is a problem.
const lateAfter = 10 * time.Minute

// Missing is a repository that lacks git data which events of other relays name.
type Missing struct {
	Address string      `json:"address"`
	Name    Text        `json:"name"`    // for people
	Served  bool        `json:"served"`  // an older state of it is
	Through bool        `json:"through"` // every server has answered, and none has the data; or no event names any
	Lapsed  bool        `json:"lapsed"`  // graspd has given up the announcement
	Since   Moment      `json:"since"`   // when graspd first missed it
	Until   Moment      `json:"-"`       // when graspd gives the announcement up; zero where it is served
	Servers []GitServer `json:"servers"` // what was tried
}

// mostTried is how many servers a sentence names of one repository, and mostNamed how many repositories.
const (
	mostTried = 3
	mostNamed = 3
)

// String says what was tried where.
func (m Missing) String() string {
	var tried []string
	for _, s := range m.Servers[:min(len(m.Servers), mostTried)] {
		tried = append(tried, safetext.Printable(string(s.URL))+": "+safetext.Printable(s.State()))
	}
	if n := len(m.Servers) - len(tried); n > 0 {
		tried = append(tried, safetext.Number(n, "other server", "other servers"))
	}
	text := safetext.Printable(string(m.Name)) + " ("
	if len(tried) == 0 {
		return text + "no event says where its git data is)"
	}
	return text + strings.Join(tried, "; ") + ")"
}

// Counts says how many repositories are served, of all that are announced.
func (r Readiness) Counts() string {
	verb := "are"
	if r.Announced == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%d of %s %s served", r.Served, safetext.Number(r.Announced, "repository", "repositories"), verb)
}

// String says in one sentence whether this relay is ready, and what it waits for.
func (r Readiness) String() string {
	switch {
	case r.Ready && r.Announced == 0:
		return "ready"
	case r.Ready:
		return "ready: " + r.Counts() + and(r.missing())
	}
	text := "not ready: " + r.Counts() + "; "
	switch {
	case len(r.Relays) > 0 && !r.Further:
		return text + "the initial sync has not finished yet: " + r.relays()
	case len(r.Relays) > 0:
		return text + "what belongs to these is asked for: " + r.relays()
	case len(r.Missing) > 0:
		return text + r.missing()
	}
	return text + "graspd looks which git data is missing"
}

// Problem says what is not served after a while, and what was tried; "" where there is nothing of the kind.
func (r Readiness) Problem() string {
	switch {
	case len(r.Late) > 0:
		return fmt.Sprintf("not everything is served that other relays announce for this one (%s): %s", r.Counts(), named("git data is missing for "+Duration(lateAfter)+" or longer of ", r.Late, r.LateMore))
	case !r.Ready && r.For.Duration >= lateAfter && len(r.Relays) > 0:
		return fmt.Sprintf("the initial sync has not finished in %s; bootstrap relays that have not answered everything: %s", Duration(r.For.Duration), r.relays())
	}
	return ""
}

func (r Readiness) relays() string {
	var names []string
	for _, u := range r.Relays {
		names = append(names, string(u))
	}
	return strings.Join(names, ", ")
}

func (r Readiness) missing() string {
	if len(r.Missing) == 0 {
		return ""
	}
	return named("git data is missing of ", r.Missing, r.More)
}

// named names the first of some repositories, of which more are not in the list.
func named(text string, list []Missing, more int) string {
	var names []string
	for _, m := range list[:min(len(list), mostNamed)] {
		names = append(names, m.String())
	}
	if n := len(list) - len(names) + more; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return text + strings.Join(names, ", ")
}

func and(text string) string {
	if text == "" {
		return ""
	}
	return "; " + text
}
