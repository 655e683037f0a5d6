// Package page keeps reports in pages that people write: each between two lines that name the make target that made it.
package page

import (
	"fmt"
	"os"
	"strings"
)

// Replace puts a report into the place of the one that a file holds from "make target".
func Replace(file, target, report string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := "<!-- make "+target+" -->\n", "<!-- end of make "+target+" -->\n"
	before, rest, begins := strings.Cut(string(text), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for a report, which is between %q and %q", file, begin, end)
	}
	return os.WriteFile(file, []byte(before+begin+"\n"+report+"\n"+end+after), 0o644)
}
