package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/serve/web"
)

// mostAbout bounds the operator's own text, in bytes, as each start page has it.
const mostAbout = 32 << 10

// about returns the operator's own text, which may stand in a file, and what is wrong with it.
func (c *Config) about() (string, []string) {
	text := c.About
	if name, ok := strings.CutPrefix(text, "@"); ok {
		b, err := readText(name, mostAbout)
		if err != nil {
			return "", []string{fmt.Sprintf("--about: %v", err)}
		}
		text = string(b)
	}
	switch {
	case len(text) > mostAbout:
		return "", []string{fmt.Sprintf("--about: larger than %d KiB", mostAbout>>10)}
	case !utf8.ValidString(text):
		return "", []string{fmt.Sprintf("--about: %v", errNotText)}
	}
	return text, nil
}

// look returns the colours of public pages, and what is wrong with the settings.
func (c *Config) look() (web.Look, []string) {
	if l, err := web.ParseLook(c.Color, ""); err != nil {
		return l, []string{fmt.Sprintf("--color: %v", err)}
	}
	l, err := web.ParseLook(c.Color, c.ColorDark)
	if err != nil {
		return l, []string{fmt.Sprintf("--color-dark: %v", err)}
	}
	return l, nil
}
