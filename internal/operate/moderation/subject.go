// Package moderation has the decisions of an operator about what the relay keeps, as values: what is barred, which events go with it, what is
// kept aside for how long, and what the journal says. It remembers nothing itself.
package moderation

import (
	"errors"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Sort is the sort of a Subject.
type Sort uint8

// The sorts.
const (
	Author     Sort = 1 + iota // everything of an author
	Repository                 // one repository, at the address of its announcement
	Owner                      // all repositories of an author, but nothing else of theirs
	Event                      // one event
)

var sorts = [...]string{Author: "author", Repository: "repository", Owner: "repositories of", Event: "event"}

// Subject is what a decision is about. It is comparable, and the fields that its sort does not need are zero.
type Subject struct {
	Sort   Sort
	PubKey nostr.PubKey // of Author, Owner and Repository
	D      string       // of Repository
	ID     nostr.ID     // of Event
}

// Of makes a Subject of an author.
func Of(pk nostr.PubKey) Subject { return Subject{Sort: Author, PubKey: pk} }

// At makes a Subject of the repository at an address.
func At(a nip34.Address) Subject { return Subject{Sort: Repository, PubKey: a.PubKey, D: a.D} }

// One makes a Subject of an event.
func One(id nostr.ID) Subject { return Subject{Sort: Event, ID: id} }

// String writes the subject for people and for ParseSubject: its sort, a space, and a key, an address or an id.
func (s Subject) String() string {
	name := "nothing"
	if int(s.Sort) < len(sorts) && s.Sort != 0 {
		name = sorts[s.Sort]
	}
	switch s.Sort {
	case Repository:
		return name + " " + s.Address().String()
	case Event:
		return name + " " + s.ID.String()
	}
	return name + " " + s.PubKey.String()
}

// Address returns the address of the announcement of a Repository.
func (s Subject) Address() nip34.Address {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: s.PubKey, D: s.D}
}

// ErrSubject says that a text names no subject.
var ErrSubject = errors.New("want an author, a repository or an event, as npub1…, <npub>/<identifier>, note1… or the URL of a page")

// ParseSubject reads what String has written, and what names an author, a repository or an event without saying which (grasp.ParseNamed).
func ParseSubject(text string) (Subject, error) {
	for sort, name := range sorts {
		value, ok := strings.CutPrefix(text, name+" ")
		if !ok || name == "" {
			continue
		}
		switch Sort(sort) {
		case Author:
			return ParseAuthor(value)
		case Repository:
			return ParseRepository(value)
		case Owner:
			s, err := ParseAuthor(value)
			s.Sort = Owner
			return s, err
		}
		return ParseEvent(value)
	}
	n, err := grasp.ParseNamed(text)
	switch {
	case errors.Is(err, grasp.ErrSecret):
		return Subject{}, err
	case err != nil, n.Hex(), n.Address != nip34.Address{} && n.Address.Kind != nip34.KindRepository:
		return Subject{}, ErrSubject
	case n.Author != nostr.PubKey{}:
		return Of(n.Author), nil
	case n.Event != nostr.ID{}:
		return One(n.Event), nil
	}
	return ParseRepository(text)
}

// MarshalText returns String.
func (s Subject) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads with ParseSubject.
func (s *Subject) UnmarshalText(b []byte) (err error) {
	*s, err = ParseSubject(string(b))
	return err
}

// ParseAuthor reads an author as grasp.ParseAuthor does.
func ParseAuthor(text string) (Subject, error) { return subject(Of, grasp.ParseAuthor, text) }

// ParseRepository reads a repository as grasp.ParseRepository does.
func ParseRepository(text string) (Subject, error) { return subject(At, grasp.ParseRepository, text) }

// ParseEvent reads an event as grasp.ParseEvent does.
func ParseEvent(text string) (Subject, error) { return subject(One, grasp.ParseEvent, text) }

func subject[T any](of func(T) Subject, parse func(string) (T, error), text string) (Subject, error) {
	x, err := parse(text)
	if err != nil {
		return Subject{}, err
	}
	return of(x), nil
}

// Denied returns the subjects that lists deny, in a fixed order.
func Denied(l policy.Lists) []Subject {
	var all []Subject
	for pk := range l.DenyPubKeys {
		all = append(all, Of(pk))
	}
	for a := range l.DenyRepositories.Addresses {
		all = append(all, At(a))
	}
	for pk := range l.DenyRepositories.Owners {
		all = append(all, Subject{Sort: Owner, PubKey: pk})
	}
	for id := range l.DenyEvents {
		all = append(all, One(id))
	}
	slices.SortFunc(all, Subject.compare)
	return all
}

func (s Subject) compare(o Subject) int {
	if s.Sort != o.Sort {
		return int(s.Sort) - int(o.Sort)
	}
	if c := s.PubKey.Compare(o.PubKey); c != 0 {
		return c
	}
	if c := strings.Compare(s.D, o.D); c != 0 {
		return c
	}
	return s.ID.Compare(o.ID)
}

// Lists returns lists that deny the subjects.
func Lists(subjects []Subject) (l policy.Lists) {
	for _, s := range subjects {
		switch s.Sort {
		case Author:
			l.DenyPubKeys = put(l.DenyPubKeys, s.PubKey)
		case Repository:
			l.DenyRepositories.Addresses = put(l.DenyRepositories.Addresses, s.Address())
		case Owner:
			l.DenyRepositories.Owners = put(l.DenyRepositories.Owners, s.PubKey)
		case Event:
			l.DenyEvents = put(l.DenyEvents, s.ID)
		}
	}
	return l
}

func put[M ~map[K]struct{}, K comparable](m M, k K) M {
	if m == nil {
		m = M{}
	}
	m[k] = struct{}{}
	return m
}
