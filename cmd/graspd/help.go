package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// group has flags of serve that belong together in its help and in docs/FLAGS.md, in that order.
type group struct {
	title string
	names []string
}

// groups returns all groups; each flag of serve is in one of them, once.
func groups() []group {
	return []group{
		{"Most people need these five", []string{"domain", "listen", "data", "trusted-proxies", "bootstrap"}},
		{"A file with settings", []string{"config"}},
		{"What the relay says of itself", []string{"name", "description", "contact", "pubkey", "icon", "banner", "terms-of-service", "posting-policy", "about", "color", "color-dark"}},
		{"What is accepted", []string{"min-pow", "allow-pubkeys", "deny-pubkeys", "allow-repositories", "deny-repositories", "archive", "archive-read-only"}},
		{"A service for members only", []string{"private", "members"}},
		{"Repositories", []string{"git", "contributors", "git-program", "git-max-push", "git-max-repository", "git-max-author", "git-max-data", "git-processes", "git-cache"}},
		{"Fetching from other relays and git servers", []string{"sync", "git-sync", "git-sync-concurrency", "mailboxes", "index-relays", "sync-allow-private", "sync-max-relays"}},
		{"The operator's page and programs that watch", []string{"admin-listen", "admin-pubkeys", "admin-hosts", "check"}},
		{"A bucket, so that no disk is needed", []string{"bucket", "git-local", "bucket-commit", "cluster-listen"}},
		{"Backups that graspd makes by itself", []string{"backup-dir", "backup-every", "backup-keep", "backup-rate"}},
		{"Disk, memory and log", []string{"disk-floor", "store-cache", "log-level", "log-format", "quiet"}},
		{"How graspd follows relays: hardly anybody has to change this", []string{"sync-batch-window", "sync-quick-reconnect", "sync-resync-interval",
			"sync-check-interval", "sync-startup-delay", "sync-base-backoff", "sync-max-backoff", "sync-dead-after", "sync-dead-retry",
			"sync-max-tags", "sync-max-filters", "sync-whole-from", "sync-negentropy"}},
	}
}

// sections sorts the flags of a command for its help. The flags of serve stand in its groups. Of another command, shown has what matters to
// it, and shared has the names of other flags that it shares with serve.
func (c command) sections(rows []setting) (shown []section, shared []string) {
	if c.grouped {
		for _, g := range groups() {
			s := section{title: g.title}
			for _, name := range g.names {
				if i := slices.IndexFunc(rows, func(r setting) bool { return r.name == name }); i >= 0 {
					s.rows = append(s.rows, rows[i])
				}
			}
			shown = append(shown, s)
		}
		return shown, nil
	}
	s := section{title: "Flags"}
	for _, r := range rows {
		if slices.Contains(c.seldom, r.name) {
			shared = append(shared, r.name)
		} else {
			s.rows = append(s.rows, r)
		}
	}
	if len(s.rows) > 0 {
		shown = append(shown, s)
	}
	return shown, shared
}

// section has flags under a title.
type section struct {
	title string
	rows  []setting
}

// helpWidth is the length of the longest line of help, in characters.
const helpWidth = 100

// usage writes the help of graspd as a whole.
func usage(w io.Writer) {
	fmt.Fprint(w, "graspd is a Nostr relay for git collaboration that also hosts the repositories. It keeps\nthem complete, with what other relays and git servers have of them.\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  graspd %-10s %-16s %s\n", c.name, c.args, c.about)
	}
	serve := commands()[0]
	shown, _ := serve.sections(serve.rows(nil))
	fmt.Fprintf(w, "\n%s, all of graspd serve:\n\n", shown[0].title)
	for _, r := range shown[0].rows {
		r.writeHelp(w)
	}
	fmt.Fprintf(w, "\nFor example:\n\n  %s\n", serve.example)
	fmt.Fprint(w, "\nTo try it on this machine alone: graspd demo. \"graspd help COMMAND\" lists the flags of a command.\n")
}

// helpOn writes the help of one command.
func helpOn(w io.Writer, c command, rows []setting) {
	fmt.Fprintf(w, "graspd %s: %s\n", c.usage(), c.about)
	if c.example != "" {
		fmt.Fprintf(w, "\nFor example:\n\n  %s\n", c.example)
	}
	shown, shared := c.sections(rows)
	for _, s := range shown {
		fmt.Fprintf(w, "\n%s:\n\n", s.title)
		for _, r := range s.rows {
			r.writeHelp(w)
		}
	}
	if len(shared) > 0 {
		fmt.Fprint(w, "\nSeldom needed here, and the same as for graspd serve:\n")
		for _, line := range wrap("--"+strings.Join(shared, ", --"), helpWidth-2) {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	if len(rows) > 0 {
		r := rows[0]
		fmt.Fprintf(w, "\nEach flag has a variable: --%s is %s.", r.name, r.env())
		if i := slices.IndexFunc(rows, func(r setting) bool { return r.isBool && r.def == "true" }); i >= 0 {
			fmt.Fprintf(w, " --%s=false turns a switch off.", rows[i].name)
		}
		fmt.Fprintln(w)
		if slices.ContainsFunc(rows, func(r setting) bool { return r.name == "config" }) {
			fmt.Fprint(w, "A flag wins over its variable, a variable over the file of --config, and the file over the default.\n")
		}
	}
}

// writeHelp writes what a flag is for.
func (s setting) writeHelp(w io.Writer) {
	name := "--" + s.name
	if s.placeholder != "" {
		name += " " + s.placeholder
	}
	about := s.about
	if s.def != "" && s.def != "false" {
		about += " (default " + s.def + ")"
	}
	fmt.Fprintf(w, "  %s\n", name)
	for _, line := range wrap(about, helpWidth-8) {
		fmt.Fprintf(w, "        %s\n", line)
	}
}

// wrap breaks a text between words into lines of at most so many bytes. A longer word has a line of its own.
func wrap(text string, most int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) <= most:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}
