namespace phalanx {}
