package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// record says which test caught each fault when it was planted last: lines of
// "package.Test fault". It is written by this command and saves it the search.
//
//go:embed caught.txt
var record string

// caught maps the names of faults to tests.
type caught map[string]string

func parseCaught(record string) (caught, error) {
	c := caught{}
	for line := range strings.Lines(record) {
		test, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || !strings.Contains(test, ".Test") || c[name] != "" {
			return nil, fmt.Errorf("caught.txt: what is %q?", line)
		}
		c[name] = test
	}
	return c, nil
}

// write writes what is known of the faults, in their order.
func (c caught) write(root string, faults []fault) error {
	var b strings.Builder
	for _, f := range faults {
		if test := c[f.name]; test != "" {
			fmt.Fprintln(&b, test, f.name)
		}
	}
	return os.WriteFile(filepath.Join(root, "mutate", "caught.txt"), []byte(b.String()), 0o644)
}
