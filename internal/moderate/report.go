package moderate

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/words"
)

// Bounds of the reports (NIP-56) that are kept. Beyond either one the oldest leave, by when they say they were made.
const (
	MaxReports         = 10_000
	MaxReportsByAuthor = 100
	maxReportText      = 300 // bytes that are shown; the event has the rest
)

// ReportKinds are the reasons that a report may have. Any other is "other".
var ReportKinds = []string{"nudity", "malware", "profanity", "illegal", "spam", "impersonation", "other"}

// Report is somebody's word that something here does not belong here.
type Report struct {
	ID      nostr.ID     `json:"id"`
	By      nostr.PubKey `json:"by"`
	Subject Subject      `json:"subject"`
	Kind    string       `json:"kind"` // one of ReportKinds
	Text    string       `json:"text,omitempty"`
	At      int64        `json:"at"` // unix time at which it was made, as it says itself
}

// Reported is what is open about one subject.
type Reported struct {
	Subject Subject  `json:"subject"`
	Reports int      `json:"reports"`
	People  int      `json:"people"` // who made them
	Kinds   []string `json:"kinds"`  // in the order of ReportKinds
	Last    Report   `json:"last"`
}

// ReadReport reads an event of kind 1984, and says whether it is about anything that can be taken away: an event or a
// repository, that with a reason first, else an author.
func ReadReport(e *nostr.Event) (Report, bool) {
	r := Report{ID: e.ID, By: e.PubKey, Kind: "other", At: e.CreatedAt}
	r.Text, _ = words.Cut(strings.ToValidUTF8(e.Content, "\uFFFD"), maxReportText)
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

// accused is what a tag of a report names, and how near that is to what is meant; 0 is nothing.
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

// reasonOf is the reason in a tag; "" is none.
func reasonOf(t nostr.Tag) string {
	if len(t) > 2 && slices.Contains(ReportKinds, t[2]) {
		return t[2]
	}
	return ""
}

// Gather puts reports together by what they are about, the newest first.
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

// Older puts the older of two reports first.
func Older(a, b Report) int {
	if a.At != b.At {
		if a.At < b.At {
			return -1
		}
		return 1
	}
	return a.ID.Compare(b.ID)
}

// Surplus are the reports that leave, beyond the bounds.
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
