package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of a file of a list.
const (
	listBytes    = 64 << 20 // its size
	listProblems = 10       // entries of one list that are named one by one
)

// lists reads the lists that the settings name, and says what is wrong with them, in words for the operator.
func (c *Config) lists() (l policy.Lists, problems []string) {
	for _, row := range []struct {
		flag    string
		entries []string
		add     func(string) error
		len     func() int
	}{
		{"--allow-pubkeys", c.AllowPubKeys, l.AllowPubKeys.AddAuthor, func() int { return len(l.AllowPubKeys) }},
		{"--deny-pubkeys", c.DenyPubKeys, l.DenyPubKeys.AddAuthor, nil},
		{"--allow-repositories", c.AllowRepositories, l.AllowRepositories.AddRepository, func() int { return l.AllowRepositories.Len() }},
		{"--deny-repositories", c.DenyRepositories, l.DenyRepositories.AddRepository, nil},
		{"--archive", c.Archive, l.Archive.Add, nil},
	} {
		bad := readList(row.flag, row.entries, row.add)
		// An allow list without entries would let everybody in, and its file may be empty by mistake or still being written.
		if len(bad) == 0 && len(row.entries) > 0 && row.len != nil && row.len() == 0 {
			bad = []string{row.flag + ": the list is empty, so nothing would be taken; leave the flag out to take from everybody"}
		}
		problems = append(problems, bad...)
	}
	return l, problems
}

// admins returns the keys of those who may manage the relay, and what is wrong with the setting.
func (c *Config) admins() (keys []nostr.PubKey, problems []string) {
	problems = readList("--admin-pubkeys", c.AdminPubKeys, func(s string) error {
		pk, err := grasp.ParseAuthor(s)
		if err == nil && !slices.Contains(keys, pk) {
			keys = append(keys, pk)
		}
		return err
	})
	return keys, problems
}

// members returns the keys of those whom a private relay serves, and what is wrong with the setting.
func (c *Config) members() (keys policy.PubKeys, problems []string) {
	problems = readList("--members", c.Members, keys.AddAuthor)
	switch {
	case len(problems) > 0:
	case c.Private && len(keys) == 0:
		problems = []string{"--private: nobody is a member, so nobody could use it; name members with --members"}
	case !c.Private && len(c.Members) > 0:
		problems = []string{"--members: of no effect without --private, and everybody would be served; add --private, or leave it out"}
	}
	return keys, problems
}

// archive returns what is wrong with the settings of the archive. A relay has to fetch the repositories that do not list it.
func (c *Config) archive() (problems []string) {
	switch {
	case len(c.Archive) == 0 && c.ArchiveReadOnly:
		return []string{"--archive-read-only: nothing is archived; name what is with --archive"}
	case len(c.Archive) > 0 && !c.Sync:
		return []string{"--archive: what is archived comes from other relays; leave --sync=false out"}
	case len(c.Archive) > 0 && c.HostsGit && !c.GitSync:
		return []string{"--archive: what is archived comes from other git servers; leave --git-sync=false out, or host no repositories with --git=false"}
	}
	return nil
}

// readList hands the entries of one list to add, with the entries of a file in place of its name, and returns what is wrong with them.
func readList(flag string, entries []string, add func(string) error) []string {
	p := problemList{flag: flag}
	for _, s := range entries {
		name, file := strings.CutPrefix(s, "@")
		if !file {
			p.entry("", s, add(s))
			continue
		}
		text, err := readListFile(name)
		if err != nil {
			p.add(fmt.Sprintf("%s: %v", flag, err))
			continue
		}
		p.text(name, text, add)
	}
	return p.all()
}

// text hands the entries of a file to add.
func (p *problemList) text(name string, text []byte, add func(string) error) {
	for n, line := range bytes.Split(text, []byte("\n")) {
		if entry := listEntry(line); entry != "" {
			p.entry(fmt.Sprintf("%s:%d: ", name, n+1), entry, add(entry))
		}
	}
}

// readListFile reads a file of at most listBytes, without a byte order mark. It takes only UTF-8, so that messages can quote the file.
func readListFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, listBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > listBytes:
		return nil, fmt.Errorf("%s: larger than %d MiB", name, listBytes>>20)
	case !utf8.Valid(text):
		return nil, fmt.Errorf("%s: %w", name, errNotText)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), nil
}

var errNotText = errors.New("not a text file (UTF-8)")

// listEntry returns the entry on a line, without white space around it and without a comment. A comment begins with # at the beginning of
// the line or behind white space.
func listEntry(line []byte) string {
	s := strings.TrimSpace(string(line))
	for i := range len(s) {
		if s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			return strings.TrimSpace(s[:i])
		}
	}
	return s
}

// problemList gathers what is wrong with one list, a bounded number of lines.
type problemList struct {
	flag  string
	lines []string
	more  int
}

// entry notes what is wrong with an entry. It does not repeat an entry that may hold a secret key, as problems go to logs.
func (p *problemList) entry(at, entry string, err error) {
	switch {
	case err == nil:
	case errors.Is(err, grasp.ErrSecret), strings.Contains(strings.ToLower(entry), "nsec1"):
		p.add(fmt.Sprintf("%s: %san entry is not allowed: %v", p.flag, at, err))
	default:
		p.add(fmt.Sprintf("%s: %s%.100q is not allowed: %v", p.flag, at, entry, err))
	}
}

func (p *problemList) add(line string) {
	if len(p.lines) == listProblems {
		p.more++
		return
	}
	p.lines = append(p.lines, line)
}

func (p *problemList) all() []string {
	if p.more > 0 {
		return append(p.lines, fmt.Sprintf("%s: %d more problems", p.flag, p.more))
	}
	return p.lines
}
