module graspd/mutate

go 1.26
