package gitwire

// appendAgent appends what programs call themselves, as git cleans it: no blanks and nothing that does not print.
func cleanAgent[T string | []byte](name T) string {
	clean := []byte(name[:min(len(name), maxAgent)])
	for i, c := range clean {
		if c <= ' ' || c >= 0x7f {
			clean[i] = '.'
		}
	}
	return string(clean)
}
