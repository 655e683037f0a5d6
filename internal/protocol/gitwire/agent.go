package gitwire

// cleanAgent is what a program calls itself, as git cleans it: no blanks, nothing that does not print, and not too long.
func cleanAgent[T string | []byte](name T) string {
	clean := []byte(name[:min(len(name), maxAgent)])
	for i, c := range clean {
		if c <= ' ' || c >= 0x7f {
			clean[i] = '.'
		}
	}
	return string(clean)
}
