package gitwire

import "strings"

// CheckRefName returns an error that says why git takes no push to a ref of that full name (git-check-ref-format(1); "refs/", and two parts
// after it), or that the name has more than MaxRefName bytes, or that it is an option once "refs/heads/" or "refs/tags/" is cut off, as
// people do.
func CheckRefName(name string) error {
	rest, ok := strings.CutPrefix(name, "refs/")
	switch {
	case len(name) > MaxRefName:
		return refuse("the ref name %s has %d bytes, %d at most", quote(name), len(name), MaxRefName)
	case !ok:
		return refuse("%s does not begin with refs/", quote(name))
	case !wellFormed(rest):
		return refuse("%s is no ref name that git takes", quote(name))
	}
	if _, short, _ := strings.Cut(rest, "/"); short[0] == '-' {
		return refuse("%s begins with a dash after %s", quote(name), name[:len(name)-len(short)])
	}
	return nil
}

// wellFormed follows git check-ref-format: at least two parts.
func wellFormed(name string) bool {
	return strings.Contains(name, "/") && wellFormedParts(name)
}

// wellFormedParts follows git check-ref-format --allow-onelevel.
func wellFormedParts(name string) bool {
	if name == "@" || strings.HasSuffix(name, ".") || strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c <= ' ', c == 0x7f:
			return false
		case c == '~', c == '^', c == ':', c == '?', c == '*', c == '[', c == '\\':
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}
