//! Derives that give a Rust struct the bits of its SystemVerilog twin.
//!
//! `#[derive(Image)]` on a struct with named fields: its fields, in order, are the fields of a
//! `regs_t` or the ports of a module. An integer takes `#[bits(N)]` where its width in the RTL is
//! not its own; every other type brings its width with it.
//!
//! `#[derive(Packed)]` on a struct with named fields: a `struct packed`, first field on top.
//!
//! `#[derive(ImageEnum)]` with `#[bits(N)]` on a field-less enum: the encoding of an SV enum.

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Ident, LitInt, parse_macro_input};

/// Implements `rtl_model::image::Image` for a struct with named fields.
#[proc_macro_derive(Image, attributes(bits))]
pub fn image(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    image_impl(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Implements `rtl_model::image::Bits` for an enum without fields.
#[proc_macro_derive(ImageEnum, attributes(bits))]
pub fn image_enum(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    enum_impl(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Implements `Pack` and `Item` for a struct with named fields.
#[proc_macro_derive(Packed, attributes(bits))]
pub fn packed(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    packed_impl(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// The `N` of `#[bits(N)]`, where it stands.
fn bits_attr(attrs: &[Attribute]) -> syn::Result<Option<u32>> {
    for attr in attrs {
        if attr.path().is_ident("bits") {
            return attr.parse_args::<LitInt>()?.base10_parse().map(Some);
        }
    }
    Ok(None)
}

fn image_impl(input: &DeriveInput) -> syn::Result<Tokens> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "Image is for structs; enums take ImageEnum"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(&input.ident, "Image needs named fields"));
    };
    let (mut layout, mut write, mut read) = (Vec::new(), Vec::new(), Vec::new());
    for field in &fields.named {
        let ident = field.ident.as_ref().expect("named");
        let name = ident.unraw().to_string();
        let width = bits_attr(&field.attrs)?.unwrap_or(0);
        layout.push(quote! {
            ::rtl_model::image::Item::layout(&self.#ident, #name, #width, out);
        });
        write.push(quote! { ::rtl_model::image::Item::write(&self.#ident, out); });
        read.push(quote! {
            ::rtl_model::image::Item::read(&mut self.#ident, #width, words)
                .map_err(|e| e.field(#name))?;
        });
    }
    let name = &input.ident;
    let (imp, ty, wher) = input.generics.split_for_impl();
    Ok(quote! {
        impl #imp ::rtl_model::image::Image for #name #ty #wher {
            fn layout(&self, out: &mut Vec<::rtl_model::image::Field>) { #(#layout)* }
            #[inline]
            fn write(&self, out: &mut ::rtl_model::image::Writer<'_>) { #(#write)* }
            fn read(&mut self, words: &mut ::rtl_model::image::Reader<'_>)
                -> Result<(), ::rtl_model::image::BadBits> { #(#read)* Ok(()) }
        }
    })
}

fn packed_impl(input: &DeriveInput) -> syn::Result<Tokens> {
    let Data::Struct(syn::DataStruct { fields: Fields::Named(fields), .. }) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "Packed needs a struct with named fields"));
    };
    let (mut widths, mut packs, mut unpacks) = (Vec::new(), Vec::new(), Vec::new());
    for field in fields.named.iter().rev() {
        let (ident, ty) = (&field.ident, &field.ty);
        let width = bits_attr(&field.attrs)?.unwrap_or(0);
        widths.push(quote! { <#ty as ::rtl_model::packed::Pack>::width(#width) });
        packs.push(quote! { ::rtl_model::packed::Pack::pack(&self.#ident, #width, out); });
        unpacks.push(quote! {
            let #ident = <#ty as ::rtl_model::packed::Pack>::unpack(#width, bits);
        });
    }
    let idents = fields.named.iter().map(|f| &f.ident);
    let name = &input.ident;
    Ok(quote! {
        impl ::rtl_model::packed::Pack for #name {
            #[inline(always)]
            fn width(_width: u32) -> u32 { 0 #(+ #widths)* }
            #[inline(always)]
            fn pack(&self, _width: u32, out: &mut ::rtl_model::packed::Packer<'_>) { #(#packs)* }
            fn unpack(_width: u32, bits: &mut ::rtl_model::packed::Unpacker<'_>) -> Self {
                #(#unpacks)*
                Self { #(#idents),* }
            }
        }
        ::rtl_model::packed_item!(#name);
    })
}

fn enum_impl(input: &DeriveInput) -> syn::Result<Tokens> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "ImageEnum is for enums"));
    };
    let width = bits_attr(&input.attrs)?
        .ok_or_else(|| Error::new_spanned(&input.ident, "ImageEnum needs #[bits(N)]"))?;
    let idents: Vec<&Ident> = data.variants.iter().map(|v| &v.ident).collect();
    let name = &input.ident;
    Ok(quote! {
        impl ::rtl_model::image::Bits for #name {
            const WIDTH: u32 = #width;
            #[inline]
            fn to_bits(&self) -> u64 { *self as u64 }
            fn from_bits(bits: u64) -> Option<Self> {
                [#(Self::#idents),*].into_iter().find(|v| *v as u64 == bits)
            }
        }
    })
}
