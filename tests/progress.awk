# What pytest prints, without its dots: a line at every tenth of the way. `awk -v part=unit -f tests/progress.awk`

/^[.,sxXFEu]+ *\[ *[0-9]+%\]$/ {
    match($0, /[0-9]+%/)
    tenth = int(substr($0, RSTART, RLENGTH - 1) / 10)
    if (tenth > told) {
        told = tenth
        print part ": " tenth * 10 "%"
        fflush()
    }
    next
}

{
    print part ": " $0
    fflush()
}
