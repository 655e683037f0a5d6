package gitrepo

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// maxNamed is how many ids an error names.
const maxNamed = 10

// MissingError says that objects are neither in a quarantine nor in the repository beside the quarantine.
type MissingError struct {
	IDs []gitwire.ObjectID // at most ten of them
}

func (e *MissingError) Error() string {
	texts := make([]string, len(e.IDs))
	for i, id := range e.IDs {
		texts[i] = id.String()
	}
	return "objects are needed that were not sent and are not here: " + strings.Join(texts, ", ")
}

func missing(ids []gitwire.ObjectID) *MissingError {
	return &MissingError{IDs: slices.Clone(ids[:min(len(ids), maxNamed)])}
}

// PackError says what is wrong with a pack, in words for whoever sent the pack.
type PackError struct {
	Text    string
	Check   string // git's id of the check that an object failed (git-fsck(1)), or Unreadable; ""
	ByLimit bool   // the pack is not wrong, but above a bound of this relay
	// NotCommit is the one of Proving.Commits that is something else; zero where all are commits.
	NotCommit gitwire.ObjectID
	Costly    bool // git used much of the processor to find that out
}

// Unreadable stands for a check where an object has a form that git cannot read at all.
const Unreadable = "unreadable"

func (e *PackError) Error() string { return e.Text }

// ErrHeavy says, beside gitproc.ErrBusy, that a pack is much work for git and that no slot for much work was free.
var ErrHeavy = errors.New("the pack is much work")

// heavyError marks the error where git found no slot for a pack that is much work. Who gave way to others had a slot, and memory is short because
// of what all do: whoever sent the pack need not wait for that.
func heavyError(err error) error {
	if !errors.Is(err, gitproc.ErrBusy) || errors.Is(err, gitproc.ErrGaveWay) || errors.As(err, new(fair.Refusal)) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrHeavy, err)
}

// ErrNotLinked says that no pack of a repository is what another one lacks, so that copying takes work and disk.
var ErrNotLinked = errors.New("a pack would have to be made")

// Costly reports whether err refuses a pack because of the work that the pack makes for git.
func Costly(err error) bool {
	var pack *PackError
	return errors.Is(err, ErrHeavy) || errors.As(err, &pack) && pack.Costly
}

// refused matches git's line about an object that failed a check.
var refused = regexp.MustCompile(`(?m)^error: object ([0-9a-f]{40}): ([A-Za-z0-9]+): (.*)$`)

// unread matches how git ends at an object that it cannot read, and invalid what git may have said before.
var (
	unread  = regexp.MustCompile(`(?m)^fatal: invalid (commit|tag|tree)$`)
	invalid = regexp.MustCompile(`(?m)^error: (.*)$`)
)

// notSent matches git's line about an object that the pack leads to, and that is neither in the pack nor here.
var notSent = regexp.MustCompile(`(?m)^fatal: did not receive expected object ([0-9a-f]{40})$`)

// unpackTexts pairs what git says of a pack with what the client hears instead; git's line goes where %s stands.
var unpackTexts = []struct {
	sign, text string
	byLimit    bool
}{
	{"exceeds maximum allowed size", "the pack is larger than one push may be", true},
	{"early EOF", "the pack ends too early: it was cut off on its way; push again", false},
	{"signature mismatch", "what was sent is no pack", false},
	{"unresolved delta", "the pack has deltas against objects that are not here; push again with --no-thin", false},
	{"COLLISION", "an object was sent that has the id of another one which is here (%s)", false},
}

// packError tells what is wrong with a pack, if that is why git failed.
func packError(err error) error {
	var failed *gitproc.Error
	if err = gitError(err); !errors.As(err, &failed) || errors.Is(err, ErrNoSpace) {
		return err
	}
	if failed.Ending.ByLimit() {
		return &PackError{Text: fmt.Sprintf("the pack takes more to unpack than is given for one here: git %s", failed.Ending), ByLimit: true, Costly: true}
	}
	if failed.Ending == gitproc.Killed {
		return err
	}
	if m := refused.FindStringSubmatch(failed.Stderr); m != nil {
		return notTaken(m[2], fmt.Sprintf("object %s is not taken: %s: %.200s", m[1], m[2], m[3]))
	}
	if m := unread.FindStringSubmatch(failed.Stderr); m != nil {
		text := "an object is not taken: it is no " + m[1] + " that git can read"
		if why := invalid.FindStringSubmatch(failed.Stderr); why != nil {
			text += fmt.Sprintf(" (%.200s)", why[1])
		}
		return notTaken(Unreadable, text)
	}
	if m := notSent.FindStringSubmatch(failed.Stderr); m != nil {
		switch id, err := gitwire.ParseObjectID(m[1]); {
		case err == nil && id.IsZero():
			return notTaken("nullSha1", "an object is not taken: nullSha1: it leads to the id "+m[1]+", which stands for nothing")
		case err == nil:
			return missing([]gitwire.ObjectID{id})
		}
	}
	line := lastLine(failed.Stderr)
	for _, t := range unpackTexts {
		if strings.Contains(failed.Stderr, t.sign) {
			return &PackError{Text: strings.Replace(t.text, "%s", line, 1), ByLimit: t.byLimit}
		}
	}
	return &PackError{Text: "the pack is damaged: " + line}
}

// notTaken refuses a pack for one object, as a check has found it.
func notTaken(check, text string) *PackError {
	return &PackError{Check: check, Text: text + "; take it out of the history (git filter-repo can do that) and push again"}
}

// lastLine is the last thing that git said, which is why it ended.
func lastLine(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	line := strings.TrimPrefix(strings.TrimPrefix(lines[len(lines)-1], "fatal: "), "error: ")
	if line == "" {
		line = "git says nothing more"
	}
	return fmt.Sprintf("%.300s", line)
}

// gitError marks what git fails with on a full disk.
func gitError(err error) error {
	var failed *gitproc.Error
	if errors.As(err, &failed) {
		for _, text := range []string{"No space left on device", "Disk quota exceeded"} {
			if strings.Contains(failed.Stderr, text) {
				return fmt.Errorf("%w: %w", ErrNoSpace, err)
			}
		}
	}
	return err
}
