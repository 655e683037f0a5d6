package gitread

import "context"

type nothing struct{}

func (nothing) bytes() int { return 0 }

// Once does something once under a name.
func Once(r *Reader, what string, do func() error) error {
	_, err := once(context.Background(), r, key{what: what}, func() (nothing, error) { return nothing{}, do() })
	return err
}

// ParseDiff reads what git prints of a difference.
func ParseDiff(out []byte, cut bool) (*Diff, error) { return parseDiff(out, cut) }
