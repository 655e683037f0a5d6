module github.com/graspd/graspd/mutate

go 1.26
