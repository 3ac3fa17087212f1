//! pcie_link: to be written.
