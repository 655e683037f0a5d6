package main

import (
	"fmt"
	"os"
	"strings"
)

// write writes the page, or renews the sections in it that were measured.
func (r *report) write(path string, renew bool) error {
	page := r.markdown()
	if renew {
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		page = r.renewed(string(old))
	}
	return os.WriteFile(path, []byte(readable(page)), 0o644)
}

// renewed is the page with the sections that were measured, which say how; the others stay as they are.
func (r *report) renewed(page string) string {
	for _, s := range r.sections {
		s.notes = append(s.notes[:len(s.notes):len(s.notes)], fmt.Sprintf("Measured by `%s`: %s.", r.command, strings.Join(r.head, "; ")))
		begin, end := spot(page, s.letter)
		page = page[:begin] + s.markdown() + page[end:]
	}
	return page
}

// spot is where the section with that letter stands in a page, or where it belongs: before the first one that follows it.
func spot(page, letter string) (begin, end int) {
	for at := 0; ; {
		i := strings.Index(page[at:], "\n## ")
		if i < 0 {
			return len(page), len(page)
		}
		begin = at + i
		at = begin + len("\n## ")
		found, is := strings.CutPrefix(page[at:], "(")
		switch {
		case !is || found[:1] > letter:
			return begin, begin
		case found[:1] == letter:
			if i := strings.Index(page[at:], "\n## "); i >= 0 {
				return begin, at + i
			}
			return begin, len(page)
		}
	}
}
