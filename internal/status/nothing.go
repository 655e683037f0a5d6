package status

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
)

// Nothing has what an operator is told while no repository is kept here: what came instead since the start, and what can be done.
type Nothing struct {
	Relay         string     `json:"relay"`          // this relay's URL, as announcements list it
	Web           string     `json:"web"`            // this relay's URL for HTTP, without a slash at the end; "" where it hosts no repositories
	Data          string     `json:"data"`           // directory of the data, absolute where that is known
	Announcements uint64     `json:"announcements"`  // that do not list this relay
	From          int        `json:"from"`           // relays that brought them
	Names         []NameSeen `json:"names"`          // services that these announcements list, the most frequent first
	Full          string     `json:"full,omitempty"` // why nothing can be stored now, a sentence; "" where something can
}

// NameSeen is a host[:port] that announcements list, and how many list it.
type NameSeen struct {
	Name          string `json:"name"`
	Announcements uint64 `json:"announcements"`
}

// Amiss reports whether this looks like a mistake: announcements come, and none lists this relay.
func (n Nothing) Amiss() bool { return n.Announcements > 0 }

// Seen says in one sentence what came.
func (n Nothing) Seen() string {
	switch {
	case n.Full != "":
		return "every event is refused, as " + n.Full
	case n.Announcements == 0:
		return "no announcement has come since the start"
	case n.From == 0:
		return fmt.Sprintf("%s came since the start, and %s", safetext.Number(n.Announcements, "announcement", "announcements"), n.none())
	}
	return fmt.Sprintf("%s came from %s since the start, and %s", safetext.Number(n.Announcements, "announcement", "announcements"), safetext.Number(n.From, "relay", "relays"), n.none())
}

// Listed says which other services the announcements list; "" where they list none.
func (n Nothing) Listed() string {
	var names []string
	for _, x := range n.Names {
		names = append(names, fmt.Sprintf("%s (%d)", x.Name, x.Announcements))
	}
	if len(names) == 0 {
		return ""
	}
	return "they list " + strings.Join(names, ", ")
}

// Remedies returns what the operator can do, a sentence each.
func (n Nothing) Remedies() []string {
	publish := "publish an announcement (kind 30617) with " + n.Relay + " in its relays tag"
	var out []string
	if n.Full != "" {
		out = append(out, "at first make room, as nothing of what follows works before")
	}
	if n.Web != "" {
		_, server, _ := strings.Cut(n.Relay, "wss://")
		out = append(out, "with ngit (https://ngit.dev), in a repository: ngit init --grasp-server "+cmp.Or(server, n.Relay)+" --defaults, then git push; everybody clones it from "+n.Web+"/<npub>/<identifier>.git")
		publish = "or by hand: " + publish
		publish += " and " + n.Web + "/<npub>/<identifier>.git in its clone tag"
	}
	out = append(out, publish, "or bring events of repositories that list this relay: stop graspd, and "+n.importing(),
		"or carry repositories that do not list this relay, too: start graspd with --archive and npubs, identifiers, URLs of relays to mirror (wss://…), or all")
	if len(n.Names) > 0 {
		out = append(out, "or, where one of these names is this relay's, start graspd with that as --domain")
	}
	return out
}

// importing returns the command that imports a file as this relay would.
func (n Nothing) importing() string {
	_, domain, _ := strings.Cut(n.Relay, "://")
	data := n.Data
	if strings.ContainsAny(data, " \t\"'$&;()<>|*?") {
		data = strconv.Quote(data)
	}
	hosts := ""
	if n.Web == "" {
		hosts = " --git=false"
	}
	return fmt.Sprintf("graspd import --domain %s --data %s%s FILE", domain, data, hosts)
}

// Lines returns all of Nothing as lines for a terminal.
func (n Nothing) Lines() []string {
	out := []string{"No repository is kept here yet: " + n.Seen() + "."}
	if listed := n.Listed(); listed != "" {
		out = append(out, strings.ToUpper(listed[:1])+listed[1:]+".")
	}
	out = append(out, "To change that:")
	for _, r := range n.Remedies() {
		out = append(out, "  "+r)
	}
	return out
}

// none says what the announcements lack.
func (n Nothing) none() string {
	text := "none of them lists this relay (" + n.Relay + ")"
	if n.Announcements == 1 {
		text = "it does not list this relay (" + n.Relay + ")"
	}
	if n.Web != "" {
		text += " in both its relays and its clone tag"
	}
	return text
}
