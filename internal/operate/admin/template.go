package admin

import (
	"cmp"
	"html/template"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/status"
)

var pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"number": number, "number64": func(n int) string { return number(uint64(max(0, n))) }, "short": func(s string) string { return s[:min(len(s), 8)] },
	"utc":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"minute": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
	"iso":    func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") },
	"hint":   func(outcome string) string { return hints[outcome] }, "host": hostFacts, "found": foundBy,
	"beyond20": func(n int) int { return max(0, n-mostReportedShown) },
	"capital":  func(s string) string { return strings.ToUpper(s[:1]) + s[1:] },
	"one": func(list string) string {
		return map[string]string{relaysPage: "relay", repositoriesPage: "repository"}[list]
	},
	"columns": status.Columns, "key": func(of any) string { return key(plain(of)) }, "cut": cut, "percent": status.Percent, "span": status.Duration,
	"relay": func(u any) string { return pageRefOf(relayPage, text(u)).String() }, "repository": func(a any) string { return pageRefOf(repositoryPage, text(a)).String() },
	"first": func(all any) any { return first(all, perPage) }, "few": func(all any) any { return first(all, mostServers) }, "beyond": func(all any) int { return max(0, reflect.ValueOf(all).Len()-perPage) },
}).ParseFS(assets, "assets/*.html"))

// mostServers is how many git servers of a repository the overview shows; the repository's page has more.
const mostServers = 5

// first returns the beginning of a list of any type.
func first(all any, most int) any {
	v := reflect.ValueOf(all)
	return v.Slice(0, min(v.Len(), most)).Interface()
}

// outcomes returns the words for events that were not taken, in the order of the alphabet.
func outcomes() []status.Word {
	var out []status.Word
	for name, meaning := range hints {
		out = append(out, status.Word{Name: name, Meaning: meaning, Metric: "graspd_ingest_refused_total"})
	}
	slices.SortFunc(out, func(a, b status.Word) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// text returns a text of any type as it can stand on a page.
func text(s any) string { return strings.ToValidUTF8(plain(s), "\uFFFD") }

func plain(s any) string {
	switch s := s.(type) {
	case string:
		return s
	case status.Text:
		return string(s)
	case interface{ String() string }:
		return s.String()
	}
	return ""
}

// cut returns the beginning of a stranger's text, with a mark where the text goes on.
func cut(most int, s any) string {
	short, was := safetext.Cut(text(s), most)
	if was {
		short += "…"
	}
	return short
}

// hints says what an outcome means.
var hints = map[string]string{
	"refuse": "against the rules of this relay", "unlisted": "an announcement that does not list this relay", "unrelated": "refers to nothing that is here; graspd takes it as soon as that changes",
	"no-maintainer": "its author does not maintain the repository; graspd takes it as soon as that changes",
	"withdraw":      "a newer announcement that no longer lists this relay", "superseded": "a newer version is here", "deleted": "its author deleted it",
	"expired": "its expiration date (NIP-40) is over", "vanished": "its author asked to be forgotten", "discard": "not taken for a reason that may not hold the next time", "invalid": "forged or malformed",
	"failed": "graspd could not decide, as the disk failed or graspd was stopping", "duplicate": "already here",
}

// foundBy says how graspd found an event that the live subscription had missed.
func foundBy(how string) string {
	switch how {
	case "catchup":
		return "fetching"
	case "daily":
		return "daily look"
	}
	return how
}
