package moderation

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of the reports (NIP-56) that are kept. Beyond either one the oldest leave, by their own created_at.
const (
	MaxReports         = 10_000
	MaxReportsByAuthor = 100
	maxReportText      = 300 // bytes of the text of a Report; the event has the rest
)

// ReportKinds has the reasons that a report may give. Any other reason counts as "other".
var ReportKinds = []string{"nudity", "malware", "profanity", "illegal", "spam", "impersonation", "other"}

// Report is somebody's word that something here does not belong here.
type Report struct {
	ID      nostr.ID     `json:"id"`
	By      nostr.PubKey `json:"by"`
	Subject Subject      `json:"subject"`
	Kind    string       `json:"kind"` // one of ReportKinds
	Text    string       `json:"text,omitempty"`
	At      int64        `json:"at"` // created_at of the event, unix time
}

// Reported sums up the open reports about one subject.
type Reported struct {
	Subject Subject  `json:"subject"`
	Title   string   `json:"title,omitempty"`   // what people call it
	LastBy  string   `json:"last_by,omitempty"` // what people call who reported it last
	Reports int      `json:"reports"`
	People  int      `json:"people"` // who made them
	Kinds   []string `json:"kinds"`  // in the order of ReportKinds
	Last    Report   `json:"last"`
}

// ReadReport reads an event of kind 1984, and reports whether it is about something that can be deleted. Its subject is an event or a
// repository, one with a reason first and else an event first; without either it is an author.
func ReadReport(e *nostr.Event) (Report, bool) {
	r := Report{ID: e.ID, By: e.PubKey, Kind: "other", At: e.CreatedAt}
	r.Text, _ = safetext.Cut(strings.ToValidUTF8(e.Content, "\uFFFD"), maxReportText)
	best := 0
	for _, t := range e.Tags {
		s, rank := accused(t)
		reason := reasonOf(t)
		if rank > 1 && reason != "" {
			rank += 3
		}
		if rank > best {
			best, r.Subject = rank, s
			if reason != "" {
				r.Kind = reason
			}
		}
		if r.Kind == "other" && reason != "" {
			r.Kind = reason
		}
	}
	return r, best > 0
}

// accused returns the subject that a tag of a report names, and its rank among the tags: a higher one is more likely meant. Rank 0 is none.
func accused(t nostr.Tag) (Subject, int) {
	switch t.Name() {
	case "e":
		if id, err := nostr.ParseID(t.Value()); err == nil {
			return One(id), 3
		}
	case "a":
		if a, err := nip34.ParseAddress(t.Value()); err == nil && (a.Kind == nip34.KindRepository || a.Kind == nip34.KindState) {
			return At(a), 2
		}
	case "p":
		if pk, err := nostr.ParsePubKey(t.Value()); err == nil {
			return Of(pk), 1
		}
	}
	return Subject{}, 0
}

// reasonOf returns the reason in a tag; "" without one of ReportKinds.
func reasonOf(t nostr.Tag) string {
	if len(t) > 2 && slices.Contains(ReportKinds, t[2]) {
		return t[2]
	}
	return ""
}

// Gather sums reports up by their subjects, the subject with the newest report first.
func Gather(list []Report) []Reported {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Report) int { return Older(b, a) })
	var out []Reported
	at := map[Subject]int{}
	type word struct {
		of Subject
		by nostr.PubKey
	}
	type sort struct {
		of   Subject
		kind string
	}
	people, kinds := map[word]bool{}, map[sort]bool{}
	for _, r := range list {
		i, ok := at[r.Subject]
		if !ok {
			i = len(out)
			at[r.Subject] = i
			out = append(out, Reported{Subject: r.Subject, Last: r, Kinds: []string{}})
		}
		x := &out[i]
		x.Reports++
		if !people[word{r.Subject, r.By}] {
			people[word{r.Subject, r.By}] = true
			x.People++
		}
		kinds[sort{r.Subject, r.Kind}] = true
	}
	for i := range out {
		for _, k := range ReportKinds {
			if kinds[sort{out[i].Subject, k}] {
				out[i].Kinds = append(out[i].Kinds, k)
			}
		}
	}
	return out
}

// Older compares two reports, for sorting the oldest first.
func Older(a, b Report) int {
	if a.At != b.At {
		if a.At < b.At {
			return -1
		}
		return 1
	}
	return a.ID.Compare(b.ID)
}

// Surplus returns the ids of the reports beyond the bounds, which are to leave.
func Surplus(list []Report) (ids []nostr.ID) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Report) int { return Older(b, a) })
	by, kept := map[nostr.PubKey]int{}, 0
	for _, r := range list {
		if by[r.By] == MaxReportsByAuthor || kept == MaxReports {
			ids = append(ids, r.ID)
			continue
		}
		by[r.By]++
		kept++
	}
	return ids
}
