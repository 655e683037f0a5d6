package main

import (
	"fmt"
	"strings"
)

// Whoever reads the page begins with ten rows, and finds below each table what stands in the way of the targets that are not met. Both follow from
// the tables, so they are right too where only some sections were measured anew.

// row names a row of a section by how its first cell begins and ends.
type row struct{ letter, begins, ends string }

func (r row) is(letter, what string) bool {
	return letter == r.letter && strings.HasPrefix(what, r.begins) && strings.HasSuffix(what, r.ends)
}

// atAGlance are the ten rows, with the words for who reads nothing else.
var atAGlance = []struct {
	row
	says string
}{
	{row{"a", "ingest through the door", ""}, "events taken in: checked, decided and on the disk"},
	{row{"b", "cold catch-up from graspd", "from graspd"}, "events brought over from another relay by one that is empty"},
	{row{"b", "cold catch-up from graspd", "CPU for each event"}, "the same: CPU for an event"},
	{row{"c", "equal sets", "bytes"}, "bytes to find out that both relays have the same"},
	{row{"d", "from a remote relay to a subscriber", "p99"}, "from another relay to a subscriber, 99 of 100 within"},
	{row{"e", "a new root event", ""}, "what to ask of whom for a new issue, in a ten times larger world"},
	{row{"f", "process, second size", ""}, "memory for 1,000,000 events and 500 relays"},
	{row{"g", "500 ids", ""}, "500 events by their ids"},
	{row{"j", "clone of a medium repository", "CPU of both sides"}, "a clone of 10,000 commits: CPU"},
	{row{"j", "push of one commit", ""}, "a push of one commit: CPU of the server"},
}

// limits say what stands in the way of a target that is not met, and who else meets it.
var limits = []struct {
	row
	sentence string
}{
	{row{"a", "ingest through the door", ""}, "half of an event is its signature, and most of the rest is writing it and its index rows and merging them later (i). Checked in batches, signatures would be " +
		"cheaper; [TRIED.md](TRIED.md) says what that brought. libsecp256k1 takes as long for one; no other relay was measured at taking events in."},
	{row{"b", "", "from graspd"}, "both relays share the processors here, and (a) has them to itself. From khatru, events come as fast as it sends them."},
	{row{"b", "", "CPU for each event"}, "here an event is also read and parsed, after its id was compared, looked up and asked for, which (a) has not to do."},
	{row{"c", "equal sets", "time"}, "both relays read the ids of all that they have, one after the other and on the same processors, so it grows with their number. No other relay was measured at this."},
	{row{"e", "a new root event", ""}, "what is touched for five relays lies in a cache of the processor in the smaller world, and not in the larger one. No other relay plans this."},
	{row{"g", "500 ids", ""}, "each id is a search of its own in the index, and each event another one in the log, as ids have no order that events have; then the bytes go to the client: over a bare connection, with nothing to find, as many bytes take half of the time (`relay.BenchmarkAnswer`). No other relay was measured at this."},
	{row{"g", "CPU for each", ""}, "an event is found in the log, copied into a frame and sent together with some others; both sides of a bare connection take more than half of it for the bytes alone (`relay.BenchmarkAnswer`)."},
	{row{"i", "CPU for each event written", ""}, "an event is a row of the log and one in each index, and each row is written to the write-ahead log, to a table, and again when tables are merged. Every log-structured store does that; no other one was measured."},
	{row{"j", "", "1 ref: CPU"}, "a request to a handler of net/http that does nothing takes more than a twentieth of a process of git: [TRIED.md](TRIED.md). Only another HTTP server could meet it; `git http-backend`, the usual one, takes the process and more."},
	{row{"j", "", "against net/http"}, "finding the repository and its row of refs in the store is the rest."},
	{row{"j", "", "asked by 4 clients at once"}, "clients and server share the processors, and what the clients take does not shrink with the server. `git http-backend`, the usual one, starts a process for each."},
	{row{"j", "", "asked by 4 clients at once: CPU of each"}, "a request to a handler of net/http that does nothing takes most of it. `git http-backend`, the usual one, takes the process and more."},
	{row{"j", "clone of a large repository", "CPU of the server"}, "beside git's own work, graspd reads the pack from git and passes it on to the client; git's figure is for a file. `git http-backend` passes it on as well."},
	{row{"j", "", "cold, CPU without the server's"}, "graspd checks each object by git's own rules, and proves that the pack is whole before it counts; `git clone` checks no object."},
	{row{"j", "the same from a server elsewhere", ""}, "eight are fetched at once, and what git takes for each on these processors is more than what waiting for the server saves."},
	{row{"j", "", "cold, wall"}, "the other server shares the two processors, and takes nearly half of them; a loop of `git clone` beside it takes longer, as the row says."},
	{row{"j", "", "the processors allow"}, "a repository is made in steps that wait for the disk and for the other server, and some at once hide most of that, not all."},
	{row{"m", "clone of", "cold"}, "the pack is also checked by its hash, and written to the disk."},
	{row{"m", "SIGTERM to the leader", "of 3"}, "where the time goes is not known yet."},
	{row{"m", "SIGTERM to the leader", "failed"}, "the follower that takes over ends the connections of its own clients, with what they have just sent: they publish it again. Writes at other followers wait, and go to the new leader."},
}

const (
	glanceHead = "| what | measured | against what | ratio |\n|---|---|---|---|\n"
	notMet     = "Not met, "
)

// readable is a page with its ten rows, and with what stands in the way of targets.
func readable(page string) string {
	head, sections := parted(page)
	var rows []string
	for i, s := range sections {
		sections[i] = withLimits(s)
	}
	for _, g := range atAGlance {
		for _, s := range sections {
			if cells := firstRow(s, g.row); cells != nil {
				rows = append(rows, fmt.Sprintf("| %s [(%s)](#%s) | %s | %s | %s |\n", g.says, g.letter, anchor(s), cells[1], cells[2], cells[3]))
			}
		}
	}
	if len(rows) > 0 {
		head = strings.TrimRight(head, "\n") + "\n\n" + glanceHead + strings.Join(rows, "")
	}
	return head + strings.Join(sections, "")
}

// parted is the page without its ten rows: what stands before the first section, and the sections, each with the line break before it.
func parted(page string) (head string, sections []string) {
	parts := strings.Split(page, "\n## ")
	for _, s := range parts[1:] {
		sections = append(sections, "\n## "+s)
	}
	head, _, _ = strings.Cut(parts[0], "\n"+glanceHead)
	return strings.TrimRight(head, "\n") + "\n", sections
}

// letterOf is the letter of a section, "" of another one.
func letterOf(section string) string {
	if rest, is := strings.CutPrefix(section, "\n## ("); is && len(rest) > 1 && rest[1] == ')' {
		return rest[:1]
	}
	return ""
}

// anchor is where a link to a section leads.
func anchor(section string) string {
	title, _, _ := strings.Cut(strings.TrimPrefix(section, "\n## "), "\n")
	return strings.ReplaceAll(strings.NewReplacer("(", "", ")", "").Replace(strings.ToLower(title)), " ", "-")
}

// cellsOf takes a row of a section's table apart; nil for another line.
func cellsOf(l string) []string {
	if !strings.HasPrefix(l, "| ") || strings.HasPrefix(l, "| what |") {
		return nil
	}
	cells := strings.Split(strings.Trim(strings.TrimSpace(l), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if len(cells) != 6 {
		return nil
	}
	return cells
}

func firstRow(section string, r row) []string {
	for l := range strings.Lines(section) {
		if cells := cellsOf(l); cells != nil && r.is(letterOf(section), cells[0]) {
			return cells
		}
	}
	return nil
}

// withLimits is a section with a sentence below its table for the targets that are not met.
func withLimits(section string) string {
	var out []string
	for _, p := range strings.Split(strings.Trim(section, "\n"), "\n\n") {
		if strings.HasPrefix(p, notMet) {
			continue
		}
		out = append(out, p)
		var why []string // each sentence once
		rows := map[string][]string{}
		for l := range strings.Lines(p) {
			if cells := cellsOf(l); cells != nil && cells[5] == "**no**" {
				s := limitOf(letterOf(section), cells[0])
				if rows[s] == nil {
					why = append(why, s)
				}
				rows[s] = append(rows[s], cells[0])
			}
		}
		for _, s := range why {
			out = append(out, notMet+strings.Join(rows[s], "; ")+": "+s)
		}
	}
	return "\n" + strings.Join(out, "\n\n") + "\n"
}

func limitOf(letter, what string) string {
	for _, x := range limits {
		if x.is(letter, what) {
			return x.sentence
		}
	}
	return ""
}
