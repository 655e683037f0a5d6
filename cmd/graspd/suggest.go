package main

import "fmt"

// noSuchFlag words the problem of a flag that the command does not have. It names the flag that was meant, where only one or two letters
// differ.
func noSuchFlag(command, name string, rows []setting) string {
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.name
	}
	if meant, ok := nearest(name, names); ok {
		return fmt.Sprintf("there is no flag --%s; did you mean --%s?", name, meant)
	}
	return fmt.Sprintf("there is no flag --%s (see graspd %s --help)", name, command)
}

// noSuchCommand words the problem of a command that graspd does not have, and names the one that was meant like noSuchFlag.
func noSuchCommand(name string) string {
	if meant, ok := nearest(name, commandNames()); ok {
		return fmt.Sprintf("there is no command %q; did you mean graspd %s?", name, meant)
	}
	return fmt.Sprintf("there is no command %q (see graspd --help)", name)
}

// nearest returns the name with the least editDistance to a word, at most two, and the first of equals. A word of which that is half of
// the letters or more has none, as chance makes other names of short words.
func nearest(word string, names []string) (string, bool) {
	best, within := "", 3
	for _, n := range names {
		if d := editDistance(word, n); d < within {
			best, within = n, d
		}
	}
	return best, best != "" && 2*within < len(word)
}

// editDistance returns how many letters must be put in, left out, changed or swapped with the next to make one word of the other.
func editDistance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[(i+1)%3], rows[(i+2)%3], rows[i%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
