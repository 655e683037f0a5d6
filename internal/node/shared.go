package node

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
)

// sharedRow is the row that has the settings which are the same at all nodes of a bucket.
const sharedRow = "settings"

// shared are the settings that decide what is taken, or guard what is read, by the names of their flags. Lists are sorted.
type shared struct {
	At time.Time `json:"at"` // when they came into force; no setting

	Domain            string   `json:"domain"`
	MinPoW            int      `json:"min-pow,omitempty"`
	Git               bool     `json:"git,omitempty"`
	Contributors      bool     `json:"contributors,omitempty"`
	Mailboxes         bool     `json:"mailboxes,omitempty"`
	Private           bool     `json:"private,omitempty"`
	ReadOnly          bool     `json:"archive-read-only,omitempty"`
	AllowPubKeys      []string `json:"allow-pubkeys,omitempty"`
	DenyPubKeys       []string `json:"deny-pubkeys,omitempty"`
	AllowRepositories []string `json:"allow-repositories,omitempty"`
	DenyRepositories  []string `json:"deny-repositories,omitempty"`
	Archive           []string `json:"archive,omitempty"`
	Members           []string `json:"members,omitempty"`
	AdminKeys         []string `json:"admin-pubkeys,omitempty"`
	Push              int64    `json:"git-max-push,omitempty"`
	Repository        int64    `json:"git-max-repository,omitempty"`
	Author            int64    `json:"git-max-author,omitempty"`
	Total             int64    `json:"git-max-data,omitempty"`
}

// ErrGuarded is of a node that would show everybody what the others show members alone.
var ErrGuarded = errors.New("the nodes of this bucket serve members alone, and the settings of this one say that it serves everybody: set --private and --members as they have it")

// shared returns the settings that are to be the same at all nodes.
func (c Config) shared() shared {
	s := shared{
		Domain: c.Service.ServerName(), MinPoW: c.MinPoW, Git: c.Git != nil, Mailboxes: c.Mailboxes, Private: c.Private != nil, ReadOnly: c.Archive != nil && c.Archive.ReadOnly,
		AllowPubKeys: texts(c.Lists.AllowPubKeys), DenyPubKeys: texts(c.Lists.DenyPubKeys),
		AllowRepositories: repositories(c.Lists.AllowRepositories), DenyRepositories: repositories(c.Lists.DenyRepositories), Archive: archived(c.Lists.Archive),
	}
	for _, pk := range c.AdminKeys {
		s.AdminKeys = append(s.AdminKeys, pk.String())
	}
	slices.Sort(s.AdminKeys)
	if c.Private != nil {
		s.Members = texts(c.Private.Members)
	}
	if c.Git != nil {
		l := c.Git.Limits
		s.Contributors, s.Push, s.Repository, s.Author, s.Total = c.Git.Contributors, l.Push, l.Repository, l.Author, l.Total
	}
	return s
}

func texts[K interface {
	comparable
	fmt.Stringer
}, M ~map[K]struct{}](m M) (all []string) {
	for k := range m {
		all = append(all, k.String())
	}
	slices.Sort(all)
	return all
}

func repositories(r policy.Repositories) []string {
	all := append(texts(r.Owners), texts(r.Addresses)...)
	slices.Sort(all)
	return all
}

func archived(a policy.Archive) []string {
	all := slices.Concat(repositories(a.Chosen), slices.Collect(maps.Keys(a.Identifiers)), texts(a.Hosts))
	if a.All {
		all = append(all, "all")
	}
	slices.Sort(all)
	return all
}

// differs names the settings in which two nodes differ.
func (s shared) differs(other shared) (names []string) {
	a, b := s.values(), other.values()
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			names = append(names, name)
		}
	}
	for name := range b {
		if a[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s shared) values() (v map[string]json.RawMessage) {
	s.At = time.Time{}
	if err := json.Unmarshal(s.encode(), &v); err != nil { // it was encoded just now
		panic(err)
	}
	return v
}

func (s shared) encode() []byte {
	b, err := json.Marshal(s)
	if err != nil { // of texts and numbers
		panic(err)
	}
	return b
}

// readShared reads the settings in force; nil where none were written yet.
func readShared(st *store.Store) (s *shared, err error) {
	v := st.View()
	defer v.Close()
	err = v.ReadRow(sharedRow, func(row []byte) error {
		if row == nil {
			return nil
		}
		s = new(shared)
		return json.Unmarshal(row, s)
	})
	if err != nil {
		return nil, fmt.Errorf("the settings of the nodes: %w", err)
	}
	return s, nil
}

// lists returns the lists in force.
func (s shared) lists() (l policy.Lists, members policy.PubKeys, err error) {
	add := func(entries []string, to func(string) error) {
		for _, x := range entries {
			if wrong := to(x); wrong != nil {
				err = cmp.Or(err, fmt.Errorf("the settings of the nodes: %q: %w", x, wrong))
			}
		}
	}
	members = policy.PubKeys{}
	for entries, to := range map[*[]string]*policy.PubKeys{&s.AllowPubKeys: &l.AllowPubKeys, &s.DenyPubKeys: &l.DenyPubKeys, &s.Members: &members} {
		add(*entries, to.AddAuthor)
	}
	add(s.AllowRepositories, l.AllowRepositories.AddRepository)
	add(s.DenyRepositories, l.DenyRepositories.AddRepository)
	add(s.Archive, l.Archive.Add)
	return l, members, err
}

// over returns settings with those in force in the place of those that may change while a node runs. It fails where the others are such that a node
// with these may serve nobody.
func (s *shared) over(c Config) (Config, error) {
	if s == nil {
		return c, nil
	}
	if s.Private && c.Private == nil {
		return c, ErrGuarded
	}
	lists, members, err := s.lists()
	if err != nil {
		return c, err
	}
	c.Lists, c.MinPoW = lists, s.MinPoW
	if c.Private != nil && s.Private {
		c.Private = &Private{Members: members}
	}
	return c, nil
}

// with returns a Config with other settings of those that may change while a node runs.
func (c Config) with(s Settings) Config {
	c.Info, c.About, c.MinPoW, c.Lists = s.Info, s.About, s.MinPoW, s.Lists
	if c.Git != nil {
		g := *c.Git
		g.Limits = s.Git
		c.Git = &g
	}
	if c.Private != nil && s.Members != nil {
		c.Private = &Private{Members: s.Members}
	}
	return c
}

// settings returns those that may change while a node runs.
func (c Config) settings() Settings {
	s := Settings{Info: c.Info, About: c.About, MinPoW: c.MinPoW, Lists: c.Lists}
	if c.Git != nil {
		s.Git = c.Git.Limits
	}
	if c.Private != nil {
		s.Members = c.Private.Members
	}
	return s
}

// lastResort is how long no node that leads was heard of when one leads whose settings differ from those in force.
const lastResort = 30 * time.Second

// mayLead reports whether a node may lead: with the settings in force, or with later ones, where for long no other node has led.
func (s *shared) mayLead(own shared, read time.Time, unled time.Duration) bool {
	return s == nil || len(s.differs(own)) == 0 || read.After(s.At) && unled >= lastResort
}

// putShared has settings come into force at all nodes, unless they are.
func putShared(s *store.Store, own shared, now time.Time) error {
	was, err := readShared(s)
	if err != nil || was != nil && len(was.differs(own)) == 0 {
		return err
	}
	own.At = now.UTC()
	return full(store.Update(s, func(b *store.Batch) error { return b.SetRow(sharedRow, own.encode()) }))
}
