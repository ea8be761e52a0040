"""What changed: launches captured and compared, releases compared, the telling commit found."""
